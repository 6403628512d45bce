"""The yardsticks: copies of dy to dx, which compute nothing."""

from ..common.copies import copies_of

IMPLEMENTATIONS = copies_of("dy", "dx")
