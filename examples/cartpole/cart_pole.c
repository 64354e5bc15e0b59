/* cart_pole.c - see cart_pole.h. */
#include "cart_pole.h"

#include <math.h>
#include <string.h>

static const double gravity = 9.8, cart = 1.0, pole = 0.1, half_length = 0.5, push = 10.0, seconds = 0.02;
static const double most_x = 2.4, most_angle = 12 * 2 * 3.14159265358979323846 / 360;

/* Steele and Vigna's splitmix64. */
double cart_pole_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void cart_pole_reset(struct cart_pole *task)
{
    double *const state[4] = {&task->x, &task->v, &task->angle, &task->spin};

    for (int i = 0; i < 4; i++)
        *state[i] = 0.1 * cart_pole_random(&task->random) - 0.05;
    task->steps = 0;
}

void cart_pole_observe(const struct cart_pole *task, float observation[4])
{
    observation[0] = (float)task->x;
    observation[1] = (float)task->v;
    observation[2] = (float)task->angle;
    observation[3] = (float)task->spin;
}

bool cart_pole_step(struct cart_pole *task, int64_t action, bool *done)
{
    const double force = action == 1 ? push : -push, all = cart + pole, along = cos(task->angle),
                 across = sin(task->angle);
    const double pulled = (force + pole * half_length * task->spin * task->spin * across) / all;
    const double turn = (gravity * across - along * pulled) /
                        (half_length * (4.0 / 3.0 - pole * along * along / all));
    const double speed = pulled - pole * half_length * turn * along / all;
    bool lost;

    task->x += seconds * task->v; /* Euler: with what was */
    task->v += seconds * speed;
    task->angle += seconds * task->spin;
    task->spin += seconds * turn;
    task->steps++;
    lost = fabs(task->x) > most_x || fabs(task->angle) > most_angle;
    *done = lost || task->steps == CART_POLE_LIMIT;
    return lost;
}

void cart_pole_draw(const struct cart_pole *task, char line[64])
{
    const int middle = 30 + (int)lrint(task->x / most_x * 28),
              lean = (int)lrint(task->angle / most_angle * 4);

    memset(line, ' ', 62);
    line[61] = '\0';
    line[30] = '.';
    for (int i = -2; i <= 2; i++)
        if (middle + i >= 0 && middle + i < 61)
            line[middle + i] = '=';
    if (middle + lean >= 0 && middle + lean < 61)
        line[middle + lean] = lean < 0 ? '\\' : lean > 0 ? '/' : '|';
}
