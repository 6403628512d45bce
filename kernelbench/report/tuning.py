"""What a search of launch parameters found: its table and sentence for the terminal."""

from collections.abc import Iterator, Sequence

from kernelbench.core.texts import printable
from kernelbench.core.tunable import values_text
from kernelbench.core.units import time_column
from kernelbench.planning.candidates import Candidate, Tuned
from kernelbench.planning.cost_fit import Fit, LossShares
from kernelbench.report.table_widths import Cell, Table
from kernelbench.report.tables import NUMBER, new_table, styled_cell, table_columns

FASTEST = 8  # timed candidates that are shown


def tuning_table(found: Tuned) -> Table:
    """The rule, the fastest candidates, and every reason why others have no time."""
    rows: list[Sequence[str | Cell]] = []
    timed = [one for one in found.candidates if one.seconds is not None]
    time = time_column(one.seconds for one in timed)
    kept = dict(found.entry.values) if found.entry and found.entry.values else None
    for one in _shown(timed):
        name, share = values_text(one.values) or "the rule", f"{one.share:.3f}"
        interval = f"{one.low:.3f} to {one.high:.3f}" if one.low and one.high else ""
        won = bool(one.values) and dict(one.values) == kept
        said = ("kept", "green") if won else "measured again" if one.final else ""
        rows.append((name, time(one.seconds), share, interval, said))
    for (status, reason), same in _untimed(found.candidates).items():
        first = values_text(same[0].values) + (f" and {len(same) - 1} more" if len(same) > 1 else "")
        rows.append((first, "", "", "", styled_cell(status, f"{status}: {printable(reason)}")))
    numbers = table_columns(NUMBER, "cold", "of rule's time", "95 % interval")
    title = f"{found.operation}/{found.implementation}  {found.case}"
    return new_table(title, ["candidate", *numbers, ""], rows)


def _shown(timed: Sequence[Candidate]) -> list[Candidate]:
    """The rule first, then the candidates that were measured again, then the fastest others."""
    rule = [one for one in timed if not one.values]
    others = sorted((one for one in timed if one.values), key=lambda one: (not one.final, one.share or 1.0))
    return rule + others[:FASTEST]


def _untimed(candidates: Sequence[Candidate]) -> dict[tuple[str, str], list[Candidate]]:
    """Groups by status and reason; the sentence below the table counts those that were left out."""
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for one in candidates:
        if one.seconds is None and one.status != "left out":
            groups.setdefault((one.status, one.reason), []).append(one)
    return groups


def tuning_sentence(found: Tuned) -> str:
    """How many were tried, and what is kept."""
    if found.status != "ok":
        name = f"{found.operation}/{found.implementation}  {found.case}"
        return f"{name}: not tuned, because its own rule is {found.status}: {found.reason}"
    timed = sum(one.seconds is not None for one in found.candidates) - 1
    left = found.size - found.alike - sum(one.status != "left out" for one in found.candidates[1:])
    tried = f"{timed} of {found.size} candidates timed"
    tried += f", {found.alike} launch the same as others" if found.alike else ""
    tried += f", {left} left out" if left else ""
    if found.entry is None:
        return f"{tried}; nothing kept: none was faster than the rule, and not all were tried (--budget)"
    if found.entry.values is None:
        return f"{tried}; the rule is kept: none was faster by 1 % and by more than noise"
    share = found.entry.seconds / found.entry.rule_seconds
    return f"{tried}; kept: {values_text(found.entry.values)}, {share:.3f} of the rule's time"


def cost_fit_lines(model: str, gpu: str, fit: Fit) -> Iterator[str]:
    """How well a cost function chooses, with fitted constants and with those that ship; then where it loses most."""
    yield f"{model} on {gpu}: fitted to {fit.candidates} candidates of {fit.cases} cases. How well it chooses:"
    yield f"  with constants from other cases  {_shares_text(fit.validated)}"
    yield f"  with the default constants       {_shares_text(fit.start)}"
    yield f"  as plans chose when timed        {_shares_text(fit.timed)}"
    for loss, case, chosen, fastest in fit.worst:
        yield f"{case}: {100 * loss:.1f} % lost by {chosen} instead of {fastest}"


def _shares_text(shares: LossShares) -> str:
    near, far, mean = (100 * one for one in (shares.within_3_percent, shares.within_10_percent, shares.mean_loss))
    most = 100 * shares.largest_loss
    return (
        f"within 3 % of the fastest on {near:.0f} % of the cases, 10 % on {far:.0f} %; {mean:.1f} % slower on "
        f"average, {most:.0f} % at most"
    )
