"""Sequences modulo m: linear recurrences far out, sums of terms, iterated quadratic maps."""

from .draw import Draw
from .templates import Kinds, Names, listing, signed_sum, times


def linear(draw: Draw, level: int) -> Names:
    order = 2 if level < 5 else 3
    state: list[int] = []
    lead, period, terms = 0, 99, [0]
    m = p = q = r = 1
    while not 5 <= period <= 40:
        m = draw.between(5, 6 + 3 * level)
        p, q, r = draw.between(1, 5), draw.nonzero(-3, 5), draw.nonzero(-3, 5) * (order == 3)
        state = draw.integers(order, 0, 9)
        terms = [s % m for s in state]
        seen: dict[tuple[int, ...], int] = {}
        for lead in range(60):
            key = tuple(terms[lead:])
            if key in seen:
                lead, period = seen[key], lead - seen[key]
                break
            seen[key] = lead
            last = p * terms[-1] + q * terms[-2] + (r * terms[-3] if order == 3 else 0)
            terms.append(last % m)
        else:
            period = 99
    n = draw.between(10**4, 10**9)
    index = lead + (n - lead) % period
    rule = signed_sum(
        [times(p, "a(n-1)"), times(q, "a(n-2)"), *([times(r, "a(n-3)")] if r else [])]
    )
    start_text = ", ".join(f"a({i}) = {s}" for i, s in enumerate(state))
    term_list = ", ".join(map(str, terms[: lead + period]))
    returning = listing(terms[lead : lead + order])
    index_text = step_text(n, lead, period)
    size = n + 1 - lead
    summed = level > 3 and draw.chance(0.5)
    cycle = terms[lead : lead + period]
    cycles, left = divmod(n + 1 - lead, period)
    cycle_sum, head, tail = sum(cycle), sum(terms[:lead]), sum(cycle[:left])
    head_text = f"The terms before a({lead}) add {head}. " if lead else ""
    total = head + cycles * cycle_sum + tail
    front = f"{head} + " if lead else ""
    tail_text = f"the last {left} terms add {tail}" if left > 1 else f"the last term adds {tail}"
    back = f" + {tail}" if left else ""
    tail_text, remainder = (f" and {tail_text}", f" + {left}") if left else ("", "")
    answer = total % m if summed else terms[index]
    return locals()


def step_text(n: int, lead: int, period: int) -> str:
    """Where in the period the index n lies."""
    cycles, left = divmod(n - lead, period)
    return f"{n} = {f'{lead} + ' if lead else ''}{cycles}·{period} + {left}"


def iterated(draw: Draw, level: int) -> Names:
    m, a, c, begin, period, lead = 1, 1, 0, 0, 1, 0
    values: list[int] = []
    while period < 3 or len(values) > 40:
        m = draw.between(20, 60 * (level - 2))
        a, c, begin = draw.between(1, 4), draw.between(1, 20), draw.between(0, 9)
        values = [begin % m]
        while (following := (a * values[-1] ** 2 + c) % m) not in values:
            values.append(following)
        lead = values.index(following)
        period = len(values) - lead
    n = draw.between(10**4, 10**9)
    index = n if n < lead else lead + (n - lead) % period
    answer, value_list, back = values[index], ", ".join(map(str, values)), values[lead]
    rule, indexed = f"{times(a, 'x')}^2 + {c}", f"{times(a, 'x(n)')}^2 + {c}"
    index_text = step_text(n, lead, period)
    return locals()


def closed_form(draw: Draw, level: int) -> Names:
    one, two = draw.some([k for k in range(-5, 6) if k], 2)
    n = draw.between(6, 10)
    p, q = one + two, -one * two
    u, v = draw.nonzero(-4, 5), draw.nonzero(-4, 5)
    initial = signed_sum([times(one, "u"), times(two, "v")])
    first, second = u + v, u * one + v * two
    rule = signed_sum([times(p, "a(n-1)"), times(q, "a(n-2)")]) if p else times(q, "a(n-2)")
    answer = u * one**n + v * two**n
    characteristic = f"t^2 = {signed_sum([times(p, 't'), str(q)]) if p else q}"
    return locals()


KINDS: Kinds = {3: (linear, iterated, closed_form), 4: (linear, iterated), 5: (linear, iterated)}
