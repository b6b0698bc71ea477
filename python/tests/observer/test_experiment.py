"""What users get, from tables that are made up."""

from __future__ import annotations

import numpy as np

from hopflow.observer.experiment import first_visits


def test_the_first_visit_of_each_user_counts_and_is_endless_without_a_second() -> None:
    visits = {
        "network": np.array([1, 2, 1, 1, 1]),
        "seed": np.array([1, 2, 1, 1, 1]),
        "circuit": np.array([7, 7, 7, 8, 7]),
        "start_s": np.array([12.0, 1.0, 2.0, 3.0, 20.0]),
        "end_s": np.array([15.0, 4.0, 9.0, 10.0, 21.0]),
    }
    assert first_visits(visits).tolist() == [7.0, np.inf, np.inf]
