"""What the service can be told, in one frozen object; every setting can come from the environment."""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError

from api.rates import Rate
from engine.model.base import Frozen, Lang

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "TRAINTRIAGE_"
KB = 1024
MB = 1024 * 1024

OUTGOING = "outgoing"  # marks the settings that are addresses the service may call


class SettingsError(ValueError):
    """A setting that cannot be used; the text says which variable, and what is wrong with it."""


def _default_store() -> str:
    return f"sqlite:///{Path.home() / '.local' / 'share' / 'traintriage' / 'store.db'}"


def _names(value: Any) -> Any:
    return tuple(name.strip().lower() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _items(value: Any) -> Any:
    return tuple(item.strip() for item in value.split(",") if item.strip()) if isinstance(value, str) else value


def _folders(value: Any) -> Any:
    return tuple(Path(name) for name in value.split(os.pathsep) if name.strip()) if isinstance(value, str) else value


def _networks(value: Any) -> Any:
    return tuple(ipaddress.ip_network(word) for word in _items(value)) if isinstance(value, str) else value


def _roles(value: Any) -> Any:
    """``oncall=cases:read+cases:write,viewers=cases:read`` as a mapping."""
    if not isinstance(value, str):
        return value
    pairs = (word.partition("=") for word in _items(value))
    return {role.strip(): tuple(scopes.split("+")) for role, _, scopes in pairs}


def _rate(value: Any) -> Any:
    return Rate.parse(value) if isinstance(value, str) else value


def _address(value: str) -> str:
    """An absolute http or https URL without user and fragment, or nothing."""
    from urllib.parse import urlsplit

    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment):
        raise ValueError("write a URL such as https://host.example:8443/path, without user and password")
    return value


RateText = Annotated[Rate, BeforeValidator(_rate)]
Address = Annotated[str, AfterValidator(_address), OUTGOING]  # one that the service may call
Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def _secrets(value: Any) -> Any:
    return tuple(SecretStr(word) for word in _items(value)) if isinstance(value, str) else value


def _json(value: Any) -> Any:
    """JSON of a variable as data; what is no JSON is left to be refused."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("write a list in JSON") from None  # the text of the variable holds secrets


Secrets = Annotated[tuple[Annotated[SecretStr, Field(min_length=16)], ...], BeforeValidator(_secrets)]


class Webhook(Frozen):
    """One service that is told what happens to cases."""

    url: Address = Field(min_length=1, repr=False, description="Where to; it is called as it stands.")
    secrets: Secrets = Field(min_length=1, description="Each signs; two while one is replaced.")
    events: tuple[
        Literal[
            "case.opened", "case.evidence", "case.answer", "case.retraction", "case.message", "case.resolution",
            "case.reopening", "case.feedback",
        ],
        ...,
    ] = Field(("case.opened", "case.resolution", "case.reopening"), description="What is told.")  # fmt: skip
    tenant: str = Field("default", min_length=1, max_length=64, description="Whose cases.")
    lang: Lang = Field("en", description="Language of the texts.")


def _with_sdk(is_on: bool) -> bool:
    from importlib.util import find_spec

    if is_on and find_spec("mcp") is None:
        raise ValueError("it needs the package mcp: pip install 'traintriage[mcp]'")
    return is_on


class Settings(Frozen):
    """Settings of the service. ``TRAINTRIAGE_<NAME>`` sets the one of that name."""

    host: str = Field("127.0.0.1", description="Address to listen on; without access keys only one of loopback.")
    port: int = Field(8080, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        (), description="Names a Host header may have beside those of loopback, with commas between them."
    )
    workers: int = Field(1, ge=1, le=64, description="Processes that answer requests.")
    knowledge: Path | None = Field(None, description="Folder of the knowledge base; default: the bundled one.")
    store_url: Annotated[str, Field(pattern=r"^(sqlite:///|postgresql(\+asyncpg)?://).")] = Field(
        default_factory=_default_store,
        description="Where cases are kept: sqlite:///PATH, or postgresql://USER:PASSWORD@HOST/DATABASE.",
        repr=False,  # it may hold a password
    )
    retention_days: int | None = Field(
        None, ge=1, description="Days after its last change that a resolved case is deleted; default: never."
    )
    audit_log_key: Path | None = Field(None, description="Private Ed25519 key (PEM) that signs the audit log hourly.")
    audit_log_checkpoints: Path | None = Field(None, description="Folder for what it signed; best on another machine.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log line.")
    max_document_bytes: int = Field(8 * MB, ge=KB, description="Largest JSON body or 'case' part.")
    max_yaml_bytes: int = Field(MB, ge=KB, description="Largest YAML text; it is some 40 times slower to read.")
    max_upload_bytes: int = Field(64 * MB, ge=KB, description="Largest multipart body, files included.")
    max_files: int = Field(64, ge=1, le=1_000, description="Most files in one multipart body.")
    inline_bytes: int = Field(64 * KB, ge=0, description="Larger bodies are read outside the event loop.")
    body_seconds: float = Field(60.0, gt=0, description="Time the body of a request may take to arrive.")
    reading_seconds: float = Field(60.0, gt=0, description="Time one case may take to be read.")
    reading_queue: int = Field(16, ge=1, description="Cases that may wait to be read; more are refused for now.")
    audit_roots: Annotated[tuple[Path, ...], BeforeValidator(_folders)] = Field(
        (), description=f"Folders whose checkpoints may be audited by path, with {os.pathsep!r} between them."
    )
    audit_seconds: float = Field(600.0, gt=0, description="Time one audit may take.")
    audit_queue: int = Field(2, ge=1, description="Audits that may run or wait; more are refused for now.")
    audits_kept: int = Field(1_000, ge=1, description="Most audits kept; the oldest go first.")
    audits_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of kept audits; the oldest go first.")
    validation_seconds: float = Field(60.0, gt=0, description="Time a new knowledge base may take to load.")
    mcp: Annotated[bool, AfterValidator(_with_sdk)] = Field(False, description="Serve the tools for chatbots at /mcp.")
    slack_signing_secrets: Annotated[tuple[SecretStr, ...], BeforeValidator(_items)] = Field(
        (), description="Signing secret of the Slack app; while it is changed both, with a comma between them."
    )
    slack_bot_token: SecretStr | None = Field(None, description="Bot token of the Slack app, xoxb-…")
    slack_app_token: SecretStr | None = Field(None, description="App-level token for Socket Mode, xapp-…")
    slack_teams: Annotated[tuple[str, ...], BeforeValidator(_items)] = Field(
        (), description="Slack workspaces that are let in: T0123ABCD, or T0123ABCD=tenant, with commas between them."
    )
    slack_scopes: Annotated[tuple[str, ...], BeforeValidator(_items)] = Field(
        ("cases:read", "cases:write", "cases:resolve"), description="What everybody in these workspaces may do."
    )
    slack_channel: str = Field(
        "", pattern=r"^([A-Z0-9]{1,32})?$", description="Id of the Slack channel for cases that alerts open, C0123ABCD."
    )
    slack_api_url: str = Field(
        "https://slack.com/api/",
        pattern=r"^https?://[^/]+/(.*/)?$",
        description="Slack's Web API; GovSlack has its own.",
    )
    slack_files_url: str = Field(
        "https://files.slack.com",
        pattern=r"^https?://[^/]+$",
        description="Where uploaded files are fetched, if there.",
    )
    max_case_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of files in one case.")
    # Alerts in and out: docs/alerts.md.
    public_url: Annotated[str, AfterValidator(_address)] = Field(
        "", description="URL of the service as people reach it, for links in messages."
    )
    grafana_secrets: Secrets = Field((), description="Grafana signs with one of them, beside its key; with commas.")
    grafana_timestamp_header: str = Field(
        "X-Grafana-Alerting-Timestamp", description="Header with the time of the signature, if Grafana sends one."
    )
    pagerduty_secrets: Secrets = Field((), description="PagerDuty signs its webhooks with one of them; with commas.")
    pagerduty_tenant: str = Field("default", min_length=1, max_length=64, description="Whose incidents they are.")
    pagerduty_routing_key: SecretStr | None = Field(None, min_length=16, description="Cases are told to PagerDuty.")
    pagerduty_events_url: Address = Field("", description="Where to: https://events.pagerduty.com/v2/enqueue.")
    prometheus_url: Address = Field("", description="Prometheus server that is asked for the series around an alert.")
    prometheus_token: SecretStr | None = Field(None, min_length=1, description="Bearer token it asks for.")
    prometheus_queries: Path | None = Field(None, description="YAML file that names the queries.")
    prometheus_seconds: float = Field(10.0, gt=0, le=60, description="Time one query may take.")
    webhooks: Annotated[tuple[Webhook, ...], BeforeValidator(_json)] = Field(
        (), max_length=20, description="Services that are told of cases: a JSON list of objects with url and secrets."
    )
    idempotency_seconds: float = Field(86_400.0, gt=0, description="How long answers to a key are kept.")
    idempotency_keys: int = Field(10_000, ge=1, description="Most keys kept; the oldest go first.")
    idempotency_bytes: int = Field(256 * MB, ge=MB, description="Most bytes of kept answers; the oldest go first.")
    # Who may ask what: docs/access.md.
    access: Literal["open", "keys"] = Field(
        "open", description="open: whoever reaches the port may do everything. keys: who has an API key or a token."
    )
    trusted_proxies: Annotated[Networks, BeforeValidator(_networks)] = Field(
        (), description="Networks of proxies whose X-Forwarded-For is believed, with commas between them."
    )
    hsts_seconds: int = Field(0, ge=0, description="Strict-Transport-Security; only if it is reached by TLS alone.")
    oidc_issuer: str = Field("", description="iss of the tokens that are taken; none are without it.")
    oidc_audience: str = Field("", description="aud that a token must have.")
    oidc_jwks_url: Address = Field("", description="Where the issuer's keys are.")
    oidc_jwks_file: Path | None = Field(None, description="A file with the issuer's keys, instead.")
    oidc_algorithms: Annotated[tuple[Literal["RS256", "ES256", "EdDSA"], ...], BeforeValidator(_items)] = Field(
        ("RS256", "ES256", "EdDSA"), min_length=1, description="Signatures that are taken."
    )
    oidc_leeway_seconds: float = Field(30.0, ge=0, le=300, description="How far the issuer's clock may be off.")
    oidc_tenant_claim: str = Field("", description="Claim that names the tenant; without it all are of one, default.")
    oidc_scope_claim: str = Field("scope", min_length=1, description="Claim that holds scopes or roles.")
    oidc_roles: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_roles)] = Field(
        {}, description="Scopes of each value of that claim, role=scope+scope,role=scope; without it they are scopes."
    )
    rate_reading: RateText = Field(Rate(1_200, 60), description="Requests of a caller that read.")
    rate_diagnosing: RateText = Field(Rate(120, 60), description="Requests of a caller that diagnose or change cases.")
    rate_auditing: RateText = Field(Rate(20, 60), description="Audits of a caller.")
    rate_webhooks: RateText = Field(Rate(600, 60), description="Alerts of a caller.")
    rate_failures: RateText = Field(Rate(20, 60), description="Wrong keys and tokens from an address.")
    outbound_proxy: str = Field(
        "", description="Proxy for what the service itself asks; the environment's is not used."
    )
    outbound_ca: Path | None = Field(None, description="Certificates to trust there instead of the system's.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **given: Any) -> Settings:
        """Settings from ``TRAINTRIAGE_*`` variables; ``given`` values that are not ``None`` win.

        Raises:
            SettingsError: if a value cannot be used.
        """
        names = {name: PREFIX + name.upper() for name in cls.model_fields}
        values: dict[str, Any] = {name: environ[variable] for name, variable in names.items() if variable in environ}
        values |= {name: value for name, value in given.items() if value is not None}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            name = str(first["loc"][0])
            raise SettingsError(f"{names.get(name, name)}: {first['msg']}") from error
