"""Experiment trackers: TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

from engine.evidence.readers.format import Format

FORMATS: tuple[Format, ...] = ()
