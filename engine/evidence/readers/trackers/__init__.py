"""Experiment trackers: TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.trackers.mlflow_database import MLFLOW_DATABASE
from engine.evidence.readers.trackers.mlflow_files import MLFLOW_METRIC, MLFLOW_RUN, SINGLE_VALUE
from engine.evidence.readers.trackers.tensorboard import TENSORBOARD
from engine.evidence.readers.trackers.wandb_files import WANDB_CONFIG, WANDB_SUMMARY
from engine.evidence.readers.trackers.wandb_log import WANDB_LOG

FORMATS: tuple[Format, ...] = (
    TENSORBOARD, WANDB_LOG, WANDB_SUMMARY, WANDB_CONFIG, MLFLOW_DATABASE, MLFLOW_METRIC, MLFLOW_RUN, SINGLE_VALUE,
)  # fmt: skip
