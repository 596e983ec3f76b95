/*
 * hal/ref/ref_typed.h: the file REF_BODY for rows of float32 and float64, unless REF_REALS is defined of bfloat16, and
 * with REF_F16 of float16: its functions are named TYPED(name), a row's numbers are cells, which LOAD makes reals, and
 * STORE cells again. No include guard.
 */
#define cell        float
#define real        float
#define LOAD(x)     (x)
#define STORE(x)    (x)
#define TYPED(name) name##_f32
#include REF_BODY
#undef cell
#undef real
#undef TYPED

#define cell        double
#define real        double
#define TYPED(name) name##_f64
#include REF_BODY
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED

#ifndef REF_REALS
#define cell        uint16_t
#define real        float
#define LOAD(x)     bf16_to_float(x)
#define STORE(x)    bf16_from_float(x)
#define TYPED(name) name##_bf16
#include REF_BODY
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED
#endif

#ifdef REF_F16
#define cell        uint16_t
#define real        float
#define LOAD(x)     fp16_to_float(x)
#define STORE(x)    fp16_from_float(x)
#define TYPED(name) name##_f16
#include REF_BODY
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED
#undef REF_F16
#endif
#undef REF_BODY
