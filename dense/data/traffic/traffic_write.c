/* dense/data/traffic/traffic_write.c: frames, truth and things to train on, as files (dense/data/traffic/traffic.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/file.h"
#include "dense/data/decode/image_encode.h"
#include "dense/data/traffic/traffic.h"
#include "dense/data/traffic/traffic_look.h"

enum { CHANNELS = 3, QUALITY = 92, VIEWS = 3, MARGIN_PART = 8 };

static weft_status write_jpeg(const char *path, const uint8_t *pixels, const image_shape *shape)
{
    uint8_t *encoded = NULL;
    size_t bytes = 0;
    file_writer writer;
    WEFT_TRY(image_encode_jpeg(path, pixels, shape, QUALITY, &encoded, &bytes));
    weft_status status = file_writer_open(path, &writer);
    if (status == WEFT_OK) {
        status = file_write(&writer, encoded, bytes);
        status = status == WEFT_OK ? file_writer_commit(&writer) : status;
        file_writer_discard(&writer);
    }
    weft_free(encoded);
    return status;
}

/* A square around a thing, with the margin that boxes of moving things have, inside the frame. */
static weft_status write_view(const traffic *t, const char *folder, int64_t thing, int view, const traffic_box *box,
                              const uint8_t *frame)
{
    enum { SIDE_MOST = TRAFFIC_SIDE_MAX + 2 * (TRAFFIC_SIDE_MAX / MARGIN_PART) };
    const int64_t margin = box->height / MARGIN_PART, side = box->height + 2 * margin;
    uint8_t pixels[SIDE_MOST * SIDE_MOST * CHANNELS];
    char path[FILE_PATH_MAX];
    int64_t left = box->left - margin, top = box->top - margin;
    left = left < 0 ? 0 : left + side > t->width ? t->width - side : left;
    top = top < 0 ? 0 : top + side > t->height ? t->height - side : top;
    for (int64_t y = 0; y < side; ++y) {
        memcpy(pixels + y * side * CHANNELS, frame + ((top + y) * t->width + left) * CHANNELS,
               (size_t)(side * CHANNELS));
    }
    WEFT_TRY(file_path(path, "%s/objects/class%d/%06lld-%d.jpg", folder, traffic_class(t, thing), (long long)thing,
                       view + 1));
    return write_jpeg(path, pixels, &(image_shape){.height = side, .width = side, .channels = CHANNELS});
}

/* Views are at a quarter, a half and three quarters of the way. */
static weft_status write_views(const traffic *t, const char *folder, int64_t frame, const uint8_t *pixels)
{
    int64_t first, end;
    traffic_box box, before;
    traffic_near(t, frame, &first, &end);
    for (int64_t thing = first; thing < end; ++thing) {
        for (int view = 0; view < VIEWS; ++view) {
            const int64_t age = (view + 1) * t->dwell / (VIEWS + 1);
            const bool now = traffic_sees(t, thing, frame, &box) && box.width == box.height &&
                             !traffic_sees(t, thing, frame - age - 1, &before) &&
                             traffic_sees(t, thing, frame - age, &before);
            WEFT_TRY(now ? write_view(t, folder, thing, view, &box, pixels) : WEFT_OK);
        }
    }
    return WEFT_OK;
}

static weft_status write_frame(const traffic *t, const char *folder, int64_t frame, uint8_t *pixels)
{
    const image_shape shape = {.height = t->height, .width = t->width, .channels = CHANNELS};
    char path[FILE_PATH_MAX];
    WEFT_TRY(traffic_draw(t, frame, pixels));
    WEFT_TRY(file_path(path, "%s/frames/%06lld.jpg", folder, (long long)frame + 1));
    WEFT_TRY(write_jpeg(path, pixels, &shape));
    return write_views(t, folder, frame, pixels);
}

static weft_status write_frames(const traffic *t, const char *folder, int threads)
{
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel num_threads(threads)
    {
        uint8_t *pixels = NULL;
        weft_status mine = WEFT_NEW(&pixels, t->height * t->width * CHANNELS, WEFT_MEM_WORKSPACE);
        first_failure_note(&failure, 0, mine);
#pragma omp for schedule(dynamic, 4)
        for (int64_t frame = 0; frame < t->frames; ++frame) {
            if (mine == WEFT_OK) {
                mine = write_frame(t, folder, frame, pixels);
                first_failure_note(&failure, frame, mine);
            }
        }
        weft_free(pixels);
    }
    return first_failure_tell(&failure);
}

static weft_status write_truth(const traffic *t, const char *folder)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/truth.csv", folder));
    WEFT_TRY(file_writer_open(path, &writer));
    fprintf(writer.stream, "frame,object,class,left,top,width,height\n");
    for (int64_t frame = 0; frame < t->frames; ++frame) {
        int64_t first, end;
        traffic_near(t, frame, &first, &end);
        for (int64_t thing = first; thing < end; ++thing) {
            traffic_box b;
            if (traffic_sees(t, thing, frame, &b)) {
                fprintf(writer.stream, "%06lld.jpg,%lld,class%d,%lld,%lld,%lld,%lld\n", (long long)frame + 1,
                        (long long)thing, traffic_class(t, thing), (long long)b.left, (long long)b.top,
                        (long long)b.width, (long long)b.height);
            }
        }
    }
    const weft_status status = file_writer_commit(&writer);
    file_writer_discard(&writer);
    return status;
}

static weft_status fill(const traffic *t, const char *folder, int threads)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/frames", folder));
    WEFT_TRY(folder_make(path));
    for (int64_t c = 0; c < t->classes; ++c) {
        WEFT_TRY(file_path(path, "%s/objects/class%lld", folder, (long long)c));
        WEFT_TRY(folder_make(path));
    }
    WEFT_TRY(write_truth(t, folder));
    return write_frames(t, folder, threads);
}

weft_status traffic_write(const traffic *t, const char *path, int threads, bool force)
{
    char temporary[FILE_PATH_MAX];
    WEFT_TRY(folder_begin(path, force, temporary));
    weft_status status = fill(t, temporary, threads);
    if (status == WEFT_OK) {
        return folder_commit(temporary, path, force);
    }
    const weft_status failed = weft_fail(status, "%s", weft_error_message());
    (void)folder_remove(temporary);
    return failed;
}
