"""What a run's records say about why it came out as it did: the views that the dashboard and the page draw.

Each is a pure function of a run that `open_run` opened; none reads more than it shows, so that a run of hundreds of
steps over thousands of items can be looked at while it is written.
"""

from __future__ import annotations

from skillopt.records.reading import open_run
from skillopt.views import drawings
from skillopt.views.arithmetic import arithmetic
from skillopt.views.costs import CostRow, Costs, costs
from skillopt.views.effects import Bar, Effects, effects
from skillopt.views.flips import TEST, Contest, Flip, Side, SideBySide, contests, side_by_side
from skillopt.views.grid import Grid, Window, grid, split_columns
from skillopt.views.growth import (
    BEST,
    BlamedLine,
    BlamedText,
    VersionRow,
    blamed,
    version,
    version_diff,
    versions,
)
from skillopt.views.measurements import SPLITS, Split
from skillopt.views.noise import NoiseFloor, noise_floor
from skillopt.views.scores import Scores
from skillopt.views.trajectory import Part, Trajectory, trajectory
from skillopt.views.tree import Node, tree

__all__ = [
    "BEST", "SPLITS", "TEST", "Bar", "BlamedLine", "BlamedText", "Contest", "CostRow", "Costs", "Effects", "Flip",
    "Grid", "Node", "NoiseFloor", "Part", "Scores", "Side", "SideBySide", "Split", "Trajectory", "VersionRow", "Window",
    "arithmetic", "blamed", "contests", "costs", "drawings", "effects", "grid", "noise_floor", "open_run",
    "side_by_side", "split_columns", "trajectory", "tree", "version", "version_diff", "versions",
]  # fmt: skip
