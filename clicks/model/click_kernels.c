/* clicks/model/click_kernels.c: which kernels this processor takes, and threads over samples. */
#include "clicks/model/click_kernels.h"

#include "base/integer/integers.h"
#include "base/isa.h"

const click_kernels *click_kernels_get(void)
{
    static const click_kernels *const kernels[HAL_ISAS] = {&click_kernels_base, &click_kernels_avx2,
                                                           &click_kernels_avx512};
    return kernels[hal_isa_best()];
}

int64_t click_dots_scratch(int64_t vectors, int64_t width)
{
    const int64_t columns = whole(vectors, CLICK_PAD), padded = whole(width, CLICK_PAD);
    return columns * padded + whole(width * columns, CLICK_PAD) + columns * columns;
}

void click_each_sample(const weft_hal *hal, int64_t samples,
                       void (*run)(const void *args, int64_t begin, int64_t end, int thread), const void *args)
{
    enum { FEWEST = 16 }; /* samples that are worth a thread */
    const int threads = (int)smaller(hal->threads, samples / FEWEST + 1);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int thread = 0; thread < threads; ++thread) {
        const hal_span own = hal_split_rows(samples, threads, thread);
        run(args, own.begin, own.end, thread);
    }
}

static float *scratch_of(const click_dots *dots, int thread)
{
    return dots->scratch + thread * click_dots_scratch(dots->vectors, dots->width);
}

static void run_dots(const void *args, int64_t begin, int64_t end, int thread)
{
    click_kernels_get()->dots(args, begin, end, scratch_of(args, thread));
}

static void run_dots_backward(const void *args, int64_t begin, int64_t end, int thread)
{
    click_kernels_get()->dots_backward(args, begin, end, scratch_of(args, thread));
}

void click_dots_forward(const weft_hal *hal, int64_t samples, const click_dots *dots)
{
    click_each_sample(hal, samples, run_dots, dots);
}

void click_dots_backward(const weft_hal *hal, int64_t samples, const click_dots *dots)
{
    click_each_sample(hal, samples, run_dots_backward, dots);
}
