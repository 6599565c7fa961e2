"""``traintriage slack``: answer Slack over a connection that this machine makes, without an address of its own."""

from __future__ import annotations

import os

import click

from api.cli import Problem


@click.command("slack")
@click.option("--socket", is_flag=True, help="Listen by Socket Mode until Ctrl-C.")
@click.option("--check", is_flag=True, help="Only see whether the tokens work and the bot may do what it needs.")
def command(socket: bool, check: bool) -> None:
    """Diagnose training incidents in Slack; docs/slack.md leads from nothing to a bot in ten minutes.

    Needs TRAINTRIAGE_SLACK_BOT_TOKEN, TRAINTRIAGE_SLACK_APP_TOKEN and TRAINTRIAGE_SLACK_TEAMS. Requests over HTTP are
    answered by traintriage serve.
    """
    import asyncio

    from api.settings import Settings, SettingsError
    from api.slack import require_libraries

    if socket == check:
        raise click.UsageError("say --socket to listen, or --check to try the tokens")
    try:
        require_libraries()
    except SettingsError as error:
        raise Problem("Slack cannot be reached so", str(error)) from None
    from slack_sdk.errors import SlackApiError

    from api.slack.check import reason_unreached, tried
    from api.slack.posts import reason_of
    from api.slack.socket import listen
    from engine.knowledge.problems import KbError

    try:
        settings = Settings.from_env(os.environ)
        if socket:
            asyncio.run(listen(settings))
        else:
            click.echo(asyncio.run(tried(settings)))
    except SettingsError as error:
        raise Problem("Slack cannot be reached so", str(error)) from None
    except KbError as error:
        raise Problem("the knowledge base does not load", str(error)) from None
    except SlackApiError as error:
        raise Problem("Slack refuses", f"{reason_of(error)}; see docs/slack.md") from None
    except OSError as error:
        raise Problem("Slack cannot be reached", reason_unreached(error)) from None
