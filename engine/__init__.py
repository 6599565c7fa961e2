"""The expert system itself: knowledge, inference, evidence and calculators; knows neither HTTP nor Slack."""

__version__ = "0.1.0"
