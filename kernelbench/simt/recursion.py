"""Which functions of a module may call themselves, directly, through others, or through pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelbench.simt.ir import Function, Module, Register, Symbol
from kernelbench.simt.pointers import call_parts, reachable_functions


def recursive_functions(module: Module) -> frozenset[str]:
    """Names of the functions from which a call may lead back to them: Tarjan's strongly connected components."""
    calls = {
        name: tuple(dict.fromkeys(_callees(module, function)))
        for name, function in module.functions.items()
        if function.defined
    }
    return frozenset(name for name, group in _components(calls).items() if len(group) > 1 or name in calls[name])


def _callees(module: Module, function: Function) -> Iterator[str]:
    sizes = {one.name: one.bytes for one in function.variables}
    for call in function.instructions:
        if call.opcode[0] != "call":
            continue
        results, target, arguments, _ = call_parts(call)
        if isinstance(target, Symbol):
            yield target.name
        elif isinstance(target, Register):
            given = [[sizes.get(getattr(one, "name", ""), -1) for one in some] for some in (results, arguments)]
            yield from (one.name for one in reachable_functions(module, *given))


def _components(edges: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The strongly connected component of each node, without recursion."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    found: dict[str, tuple[str, ...]] = {}
    open_nodes: list[str] = []
    for root in edges:
        path = [] if root in numbers else [(root, iter(edges[root]))]
        while path:
            node, waiting = path[-1]
            if node not in numbers:
                numbers[node] = lowest[node] = len(numbers)
                open_nodes.append(node)
            to = next((one for one in waiting if one in edges and one not in found), None)
            if to is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    place = open_nodes.index(node)
                    group = tuple(open_nodes[place:])
                    del open_nodes[place:]
                    found.update(dict.fromkeys(group, group))
            elif to in numbers:
                lowest[node] = min(lowest[node], numbers[to])
            else:
                path.append((to, iter(edges[to])))
    return found
