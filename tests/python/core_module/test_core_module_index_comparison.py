"""Comparisons of index expressions with numbers, see core_module/tracing/index_comparison.cpp."""

import operator

import pytest
from neuron_sim.nki.tracing.expression import Expression

EDGE = 2**61
CONSTANTS = (0, -5, 7, EDGE - 1, EDGE, EDGE + 1, -EDGE, -EDGE - 1, 2**63 - 1, -(2**63))
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge)


def outcome(compare, expression, other):
    """The condition that a comparison makes, or the error."""
    try:
        (condition,) = compare(expression, other).conditions
    except OverflowError as error:
        return str(error)
    return condition.constant, condition.steps, condition.shape


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("number", CONSTANTS)
def test_a_number_compares_as_an_expression_of_that_number(compare, number):
    for constant in CONSTANTS:
        expression = Expression(constant, {}, (3,), (8,))
        as_expression = Expression(number, {}, (0,), (8,))
        assert outcome(compare, expression, number) == outcome(compare, expression, as_expression)


@pytest.mark.parametrize("compare", COMPARISONS)
def test_a_condition_holds_where_the_comparison_does(compare):
    expression = Expression(-4, {}, (3,), (8,))
    for number in range(-6, 22):
        (condition,) = compare(expression, number).conditions
        for position in range(8):
            held = condition.constant + condition.steps[0] * position >= 0
            assert held == compare(-4 + 3 * position, number)
