"""tune --model, second half: recorded times -> a cost function fitted -> its constants, and what beats its choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelbench.core.errors import InputError
from kernelbench.core.gpu import DeviceProperties
from kernelbench.devices.known import KNOWN
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.cost_constants import delete_fitted, fitted_model, write_fitted
from kernelbench.planning.cost_fit import Fit, fit
from kernelbench.planning.timed_candidates import candidates_with_quantities, tuned_entries
from kernelbench.planning.tuned import constants_file, table_file_name, write_table
from kernelbench.runs.candidate_times import read_times
from kernelbench.runs.environment import utc_now
from kernelbench.suite.to_tune import cost_model, kernels_to_rank
from kernelbench.walks.request import Request


@dataclass(frozen=True)
class ModelFit:
    """A cost function's fit, from which file, and the file of its constants."""

    model: str
    gpu: str
    fit: Fit
    unknown: int  # timed candidates that are no longer listed
    recorded: Path
    constants: Path | None  # None if those that ship choose as well
    table: Path
    entries: int  # added to the table


def fit_models(
    operation: str,
    names: Sequence[str],
    request: Request,
    folder: Path,
    here: DeviceProperties | None = None,
    out: Path | None = None,
) -> Iterator[ModelFit]:
    """Fit the kernels' cost functions to the times in `folder`, of any known GPU or of the one that is `here`. Write
    the constants to `folder` if they choose better than those that ship, and candidates that are faster than the
    choices to the table `out`, by default one in `folder`."""
    catalog = load_catalog(specimens=True, own=request.kernels)
    kernels = kernels_to_rank(operation, names, catalog.implementations)
    models = {cost_model(one).name: cost_model(one) for one in kernels}
    files = [(path, model) for model in models.values() for path in sorted(folder.glob(f"*.{model.name}.csv*"))]
    if not files:
        raise InputError(f"{folder}: no times of candidates of {', '.join(models)}; leave out --refit to measure them")
    for path, model in files:
        times = read_times(path)
        gpus = {one.gpu for one in times}
        if len(gpus) != 1:
            raise InputError(f"{path}: times of {', '.join(sorted(gpus)) or 'no GPU'}; expected those of one GPU")
        (gpu,) = gpus
        properties = _properties(gpu, here, path)
        samples = candidates_with_quantities(times, properties, catalog)
        found = fit(model, samples)
        place, date = constants_file(folder, gpu, model), utc_now()
        kept = place if found.is_better else None
        if kept is not None:
            write_fitted(kept, fitted_model(gpu, model, found, path, date), model)
        else:
            delete_fitted(place)  # an earlier fit's, which plans would go on reading
        table = out or folder / table_file_name(gpu)
        entries = list(tuned_entries(found, properties, catalog, path.name, date))
        if entries:
            write_table(table, gpu, entries)
        yield ModelFit(model.name, gpu, found, len(times) - len(samples), path, kept, table, len(entries))


def _properties(gpu: str, here: DeviceProperties | None, path: Path) -> DeviceProperties:
    found = [one for one in (here, *KNOWN.values()) if one is not None and one.name == gpu]
    if not found:
        raise InputError(f"{path}: times of {gpu}, whose properties are not known; fit them on it, without --refit")
    return found[0]
