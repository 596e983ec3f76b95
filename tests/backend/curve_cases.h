/*
 * backend/curve_cases.h: activations beside ReLU, and gates, over images of one and of several rows. The cases are
 * rows of test_backends.c.
 */
#pragma once

#include "backend/backend_env.h"

/* Numbers of both tails, too, where exponentials are 0 or 1. */
static void curve_variant(env *e, hal_curve curve, fill how)
{
    operand x = operand_make(e, e->m, e->n, how);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    /* A slope is told by the same operand everywhere: outputs of two backends may be neighbours. */
    RUN(e, curve_backward, .dy = ON(dy), .known = ON(x), .curve = curve, .dx = ON(dx));
    RUN(e, curve_backward, .dy = ON(dy), .known = ON(x), .curve = curve, .dx = ON(dy));
    RUN(e, curve_forward, .x = ON(x), .curve = curve, .y = ON(y));
    RUN(e, curve_forward, .x = ON(x), .curve = curve, .y = ON(x));
    operand_compare(e, &y, 8.0);
    operand_compare(e, &x, 8.0);
    operand_compare(e, &dx, 8.0);
    operand_compare(e, &dy, 8.0);
}

static void case_curve(env *e)
{
    static const hal_curve curves[] = {HAL_CURVE_GELU, HAL_CURVE_SILU, HAL_CURVE_SIGMOID, HAL_CURVE_RELU6};
    for (size_t i = 0; i < sizeof curves / sizeof *curves; ++i) {
        curve_variant(e, curves[i], UNIT);
        curve_variant(e, curves[i], WIDE);
        curve_variant(e, curves[i], SOME_NANS);
    }
}

static void gate_variant(env *e, int64_t pixels)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand gate = operand_make(e, e->m / pixels, e->n, UNIT);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    operand dgate = operand_make(e, e->m / pixels, e->n, NOTHING);
    RUN(e, gate_backward, .dy = ON(dy), .x = ON(x), .gate = ON(gate), .dgate = ON(dgate), .dx = ON(dx),
        .pixels = pixels);
    RUN(e, gate_backward, .dy = ON(dy), .x = ON(x), .gate = ON(gate), .dx = ON(dy), .pixels = pixels);
    RUN(e, gate_forward, .x = ON(x), .gate = ON(gate), .y = ON(y), .pixels = pixels);
    RUN(e, gate_forward, .x = ON(x), .gate = ON(gate), .y = ON(x), .pixels = pixels);
    operand_compare(e, &y, 0.0);
    operand_compare(e, &x, 0.0);
    operand_compare(e, &dx, 0.0);
    operand_compare(e, &dy, 0.0);
    operand_compare(e, &dgate, 1.0 + (double)pixels);
}

static void case_gate(env *e)
{
    gate_variant(e, 1);
    if (e->m % 5 == 0) {
        gate_variant(e, 5);
    }
    if (e->m > 0) {
        gate_variant(e, e->m);
    }
}
