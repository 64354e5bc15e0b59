/* plan_order.h - the order of backward's steps, for plan.c.
 *
 * note [order]
 * backward/backward.c writes gradients in the order in which it goes back through forward, and passes behind it move what they
 * join. Any order that makes values before they are read gives the same numbers. Which of them keeps least in memory is
 * NP-complete to find, so steps are moved one by one, with what they cannot do without, and a move stays where it makes the
 * liveness bound lower: such as the gradient of a weight, the last to read a saved value, that comes before the gradient of
 * the input, which takes memory. Of equal bounds the order counts in which less is live over all steps, but only among the
 * neighbours of one module call, so that the text keeps together what belongs together. Forward stays as it is. With hooks
 * nothing moves past one, which may look at values and change some: steps move between them, if the bound becomes lower, such as
 * a large gradient that was made in front of the commits of regions, to where it is added. */
#ifndef MODC_PLAN_ORDER_H
#define MODC_PLAN_ORDER_H

struct planner;

/* Puts the steps behind the YIELD in a better order, if there is one. They stand in the graph's order before. */
void planner_order_steps(struct planner *planner);

#endif
