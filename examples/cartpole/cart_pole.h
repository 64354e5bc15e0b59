/* cart_pole.h - the classic control task: a pole that stands on a cart is kept up by pushing the cart left or right.
 * Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems", 1983; the
 * numbers are those of gymnasium's CartPole-v1, whose states it follows. */
#ifndef CART_POLE_H
#define CART_POLE_H

#include <stdbool.h>
#include <stdint.h>

enum { CART_POLE_LIMIT = 500 }; /* steps, then an episode is truncated */

struct cart_pole {
    double x, v, angle,
        spin; /* of the cart in metres, of the pole in radians; and their changes per second */
    int steps;
    uint64_t random;
};

/* A number from 0 on and below 1. */
double cart_pole_random(uint64_t *state);

void cart_pole_reset(struct cart_pole *task); /* all four from -0.05 to 0.05 */
void cart_pole_observe(const struct cart_pole *task, float observation[4]);

/* 0.02 seconds with a push to the left (0) or right (1). Whether the pole or the cart has left its range; *done: or the episode
 * is as long as it may be. The reward of each step is 1. */
bool cart_pole_step(struct cart_pole *task, int64_t action, bool *done);

/* A line of text: the cart and how far its pole leans. */
void cart_pole_draw(const struct cart_pole *task, char line[64]);

#endif
