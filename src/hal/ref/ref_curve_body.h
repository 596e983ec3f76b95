/* hal/ref/ref_curve_body.h: smooth activations and gates as they are defined; ref_typed.h includes it for each type. No
 * include guard. */

weft_status TYPED(ref_curve_forward)(const hal_curve_forward_args *args)
{
    const cell *x = args->x.source;
    cell *y = args->y.data;
    EACH_ELEMENT(y) {
        AT(y, i, j) = STORE((real)curve_value(args->curve, (double)LOAD(AT(x, i, j))));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_curve_backward)(const hal_curve_backward_args *args)
{
    const cell *dy = args->dy.source;
    const cell *known = args->known.source;
    cell *dx = args->dx.data;
    EACH_ELEMENT(dx) {
        const double slope = curve_slope(args->curve, (double)LOAD(AT(known, i, j)));
        AT(dx, i, j) = STORE((real)((double)LOAD(AT(dy, i, j)) * slope));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_gate_forward)(const hal_gate_forward_args *args)
{
    const cell *x = args->x.source;
    const cell *gate = args->gate.source;
    cell *y = args->y.data;
    EACH_ELEMENT(y) {
        AT(y, i, j) = STORE(LOAD(AT(x, i, j)) * LOAD(AT(gate, i / args->pixels, j)));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_gate_backward)(const hal_gate_backward_args *args)
{
    const cell *dy = args->dy.source;
    const cell *x = args->x.source;
    const cell *gate = args->gate.source;
    cell *dgate = args->dgate.data;
    cell *dx = args->dx.data;
    for (int64_t first = 0; first < args->dx.rows; first += args->pixels) {
        for (int64_t j = 0; j < args->dx.cols; ++j) {
            const real factor = LOAD(AT(gate, first / args->pixels, j));
            double sum = 0.0;
            for (int64_t i = first; i < first + args->pixels; ++i) {
                const real gradient = LOAD(AT(dy, i, j));
                sum += (double)gradient * (double)LOAD(AT(x, i, j));
                AT(dx, i, j) = STORE(gradient * factor);
            }
            if (dgate != NULL) {
                AT(dgate, first / args->pixels, j) = STORE((real)sum);
            }
        }
    }
    return WEFT_OK;
}
