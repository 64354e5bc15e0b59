/* returns.c - estimates of returns and advantages, as torchrl.objectives.value.functional has them: of rewards, of the values of
 * the observations before (v) and behind (nv) each step, and of where an episode is done or terminated. Each runs from the last
 * step back. What a mask leaves out is not multiplied by 0: a NaN there leaves no trace.
 *
 * Sutton and Barto, Reinforcement Learning, 2nd edition, chapters 6 and 12 (TD); Schulman et al., arXiv:1506.02438 (GAE);
 * Espeholt et al., arXiv:1802.01561 (V-trace). */
#include <string.h>

#include "functions/rows.h"

/* Broadcasts to the shape of x, and has its type. */
static struct value *like(struct eval *eval, struct loc loc, struct value *value, const struct value *x)
{
    value = build_cast(eval, loc, value, x->dtype);
    return build_expand(eval, loc, value, x->ndim, x->dims);
}

/* y[t] = x[t] + factor[t] * y[t + 1] along a dimension, but where that is cut off; behind its last element stands `behind`, or 0. */
static struct ev fn_decayed_sum(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *x = args[0].tensor,
                 *factor = args[1].kind == EV_TENSOR ? like(eval, loc, args[1].tensor, x) : NULL;
    struct value *behind = args[4].kind == EV_TENSOR ? build_cast(eval, loc, args[4].tensor, x->dtype) : NULL;
    double number = 0;
    bool reverse;
    int axis;
    (void)count;

    if (!need_axis(eval, "time_dim", &args[3], x->ndim, &axis) ||
        !need_bool(eval, "this", &args[5], &reverse))
        return BAD;
    if (!factor)
        ev_get_number(&args[1], &number);
    return ev_tensor(loc, build_decayed(eval, loc, behind, x, args[2].tensor, factor, number, axis, reverse));
}

static struct ev fn_sums_from_end(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    int axis;
    (void)count;

    if (!need_axis(eval, "dim", &args[1], args[0].tensor->ndim, &axis))
        return BAD;
    return ev_tensor(loc, build_scan(eval, loc, args[0].tensor, axis, SCAN_SUM, true));
}

/* Whatever the estimate is made of has the shape of the rewards. */
static struct ev fn_check_steps(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *reward = args[0].tensor;
    const char *name = args[2].text;
    bool mask;
    (void)count;

    if (!need_tensor(eval, "reward", &args[0]) || !need_tensor(eval, name, &args[1]) ||
        !need_bool(eval, "this", &args[3], &mask))
        return BAD;
    if (!dtype_is_float(reward->dtype)) {
        diag_error(eval->cx, loc, "%s: reward must be floating, found %s", outer(eval, "this"),
                   dtype_rows[reward->dtype].name);
        return BAD;
    }
    if (mask != (args[1].tensor->dtype == DTYPE_BOOL) || (!mask && !dtype_is_float(args[1].tensor->dtype))) {
        diag_error(eval->cx, loc, "%s: %s must be %s, found %s", outer(eval, "this"), name,
                   mask ? "bool" : "floating", dtype_rows[args[1].tensor->dtype].name);
        return BAD;
    }
    if (dims_equal(reward, args[1].tensor))
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: reward is %s, %s is %s: all have one shape", outer(eval, "this"),
               shape_text(&eval->cx->arena, reward->ndim, reward->dims), name,
               shape_text(&eval->cx->arena, args[1].tensor->ndim, args[1].tensor->dims));
    return BAD;
}

/* A number, or a tensor that broadcasts to the rewards. */
static struct ev fn_check_factor(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *reward = args[0].tensor;
    const struct dim *dims[MAX_DIMS];
    double number;
    int ndim = reward->ndim;
    (void)count;

    if (args[1].kind != EV_TENSOR && ev_get_number(&args[1], &number))
        return ev_none(loc);
    memcpy(dims, reward->dims, sizeof dims);
    if (args[1].kind != EV_TENSOR || !dtype_is_float(args[1].tensor->dtype)) {
        diag_error(eval->cx, args[1].loc, "%s: %s must be a number or a floating tensor, found %s",
                   outer(eval, "this"), args[2].text, ev_text(eval, &args[1]));
        return BAD;
    }
    if (dims_broadcast(eval->cx, dims, &ndim, args[1].tensor) && ndim == reward->ndim) {
        bool same = true;

        for (int i = 0; i < ndim; i++)
            same = same && dim_equal(dims[i], reward->dims[i]);
        if (same)
            return ev_none(loc);
    }
    diag_error(eval->cx, args[1].loc, "%s: %s is %s, which does not broadcast to the rewards, %s",
               outer(eval, "this"), args[2].text,
               shape_text(&eval->cx->arena, args[1].tensor->ndim, args[1].tensor->dims),
               shape_text(&eval->cx->arena, reward->ndim, reward->dims));
    return BAD;
}

/* terminated, where that is given, else done, of which one is needed. */
static struct ev fn_ends(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind != EV_NONE || args[1].kind != EV_NONE)
        return args[args[0].kind == EV_NONE];
    diag_error(eval->cx, loc, "%s: neither 'terminated' nor 'done' is given", outer(eval, "this"));
    return BAD;
}

static struct ev fn_check_rolling(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    if (args[0].kind == EV_NONE || (args[0].kind == EV_BOOL && args[0].integer))
        return ev_none(loc);
    diag_error(eval->cx, args[0].loc, "%s: rolling_gamma must be None or True, found %s", outer(eval, "this"),
               ev_text(eval, &args[0]));
    diag_hint(eval->cx, "each step is discounted by its own gamma");
    return BAD;
}

extern const struct function_row return_functions[];

const struct function_row return_functions[] = {
    {"td0_return_estimate(gamma, next_state_value, reward, terminated=None, *, done=None)", TORCHRL,
     .body = "ended = _ends(terminated, done)\n"
             "_check_steps(reward, next_state_value, 'next_state_value', False)\n"
             "_check_steps(reward, ended, 'done' if terminated is None else 'terminated', True)\n"
             "_check_factor(reward, gamma, 'gamma')\n"
             "return reward + gamma * where(ended, 0, next_state_value)"},
    {"td0_advantage_estimate(gamma, state_value, next_state_value, reward, done, terminated=None)", TORCHRL,
     .body =
         "_check_steps(reward, state_value, 'state_value', False)\n"
         "return td0_return_estimate(gamma, next_state_value, reward, _ends(terminated, done)) - state_value"},
    /* a truncated episode goes on with the value of its last observation, a terminated one does not */
    {"td1_return_estimate(gamma, next_state_value, reward, done, terminated=None, rolling_gamma=None, *, time_dim=-2)",
     TORCHRL,
     .body =
         "_check_rolling(rolling_gamma)\n"
         "ended = _ends(terminated, done)\n"
         "_check_return(reward, next_state_value, done, ended, gamma)\n"
         "return _lambda_return(gamma, gamma, where(ended, 0, next_state_value), 0, reward, done, done | ended,"
         " _last_value(next_state_value, ended, time_dim), time_dim)"},
    {"td1_advantage_estimate(gamma, state_value, next_state_value, reward, done, terminated=None, rolling_gamma=None, time_dim=-2)",
     TORCHRL,
     .body =
         "_check_steps(reward, state_value, 'state_value', False)\n"
         "return td1_return_estimate(gamma, next_state_value, reward, done, terminated, rolling_gamma, time_dim=time_dim)"
         " - state_value"},
    {"td_lambda_return_estimate(gamma, lmbda, next_state_value, reward, done, terminated=None, rolling_gamma=None, *, "
     "time_dim=-2)",
     TORCHRL,
     .body = "_check_rolling(rolling_gamma)\n"
             "ended = _ends(terminated, done)\n"
             "_check_return(reward, next_state_value, done, ended, gamma)\n"
             "_check_factor(reward, lmbda, 'lmbda')\n"
             "value = where(ended, 0, next_state_value)\n"
             "return _lambda_return(gamma, gamma * lmbda, value, (1 - lmbda) * value, reward, done, done,"
             " _last_value(next_state_value, ended, time_dim), time_dim)"},
    {"td_lambda_advantage_estimate(gamma, lmbda, state_value, next_state_value, reward, done, terminated=None, "
     "rolling_gamma=None, time_dim=-2)",
     TORCHRL,
     .body =
         "_check_steps(reward, state_value, 'state_value', False)\n"
         "return td_lambda_return_estimate(gamma, lmbda, next_state_value, reward, done, terminated, rolling_gamma,"
         " time_dim=time_dim) - state_value"},
    {"generalized_advantage_estimate(gamma, lmbda, state_value, next_state_value, reward, done, terminated=None, *, time_dim=-2)",
     TORCHRL,
     .body = "ended = _ends(terminated, done)\n"
             "_check_steps(reward, state_value, 'state_value', False)\n"
             "_check_steps(reward, next_state_value, 'next_state_value', False)\n"
             "_check_steps(reward, done, 'done', True)\n"
             "_check_steps(reward, ended, 'terminated', True)\n"
             "_check_factor(reward, gamma, 'gamma')\n"
             "_check_factor(reward, lmbda, 'lmbda')\n"
             "delta = reward + gamma * where(ended, 0, next_state_value) - state_value\n"
             "advantage = _decayed_sum(delta, gamma * lmbda, done, time_dim)\n"
             "return advantage, advantage + state_value"},
    {"vtrace_advantage_estimate(gamma, log_pi, log_mu, state_value, next_state_value, reward, done, terminated=None, "
     "rho_thresh=1.0, c_thresh=1.0, time_dim=-2)",
     TORCHRL,
     .body =
         "ended = _ends(terminated, done)\n"
         "_check_steps(reward, log_pi, 'log_pi', False)\n"
         "_check_steps(reward, log_mu, 'log_mu', False)\n"
         "_check_steps(reward, state_value, 'state_value', False)\n"
         "_check_steps(reward, next_state_value, 'next_state_value', False)\n"
         "_check_steps(reward, done, 'done', True)\n"
         "_check_steps(reward, ended, 'terminated', True)\n"
         "_check_factor(reward, gamma, 'gamma')\n"
         "_check_factor(reward, rho_thresh, 'rho_thresh')\n"
         "_check_factor(reward, c_thresh, 'c_thresh')\n"
         "ratio = exp(log_pi - log_mu)\n"
         "rho = clamp_max(ratio, rho_thresh)\n"
         "delta = rho * (reward + gamma * where(ended, 0, next_state_value) - state_value)\n"
         "target = _decayed_sum(delta, gamma * clamp_max(ratio, c_thresh), done, time_dim) + state_value\n"
         "steps = reward.shape[time_dim] - 1\n"
         "later = cat((target.narrow(time_dim, 1, steps), next_state_value.narrow(time_dim, steps, 1)), time_dim)\n"
         "next = where(ended, 0, where(done, next_state_value, later))\n"
         "return rho * (reward + gamma * next - state_value), target"},
    {"reward2go(reward, done, gamma, *, time_dim=-2)", TORCHRL,
     .body = "_check_steps(reward, done, 'done', True)\n"
             "_check_factor(reward, gamma, 'gamma')\n"
             "return _decayed_sum(reward, gamma, done, time_dim)"},
    {"_check_return(reward, next_state_value, done, ended, gamma)", HIDDEN,
     .body = "_check_steps(reward, next_state_value, 'next_state_value', False)\n"
             "_check_steps(reward, done, 'done', True)\n"
             "_check_steps(reward, ended, 'terminated', True)\n"
             "_check_factor(reward, gamma, 'gamma')"},
    /* `value` of the next observation, of which `rest` counts where the episode goes on; nothing comes from behind a `cut`, and
     * from behind the last step the value of its next observation */
    {"_lambda_return(gamma, factor, value, rest, reward, done, cut, last, time_dim)", HIDDEN,
     .body = "return _decayed_sum(reward + gamma * where(done, value, rest), factor, cut, time_dim, last)"},
    {"_last_value(next_state_value, ended, time_dim)", HIDDEN,
     .body = "return where(ended.select(time_dim, -1), 0, next_state_value.select(time_dim, -1))"},
    {"_decayed_sum(x, factor, cut, dim, behind=None, reverse=True)", HIDDEN, .build = fn_decayed_sum},
    {"_sums_from_end(x, dim)", HIDDEN, .build = fn_sums_from_end},
    {"_check_steps(reward, value, name, mask)", HIDDEN, .build = fn_check_steps},
    {"_check_factor(reward, factor, name)", HIDDEN, .build = fn_check_factor},
    {"_check_rolling(rolling_gamma)", HIDDEN, .build = fn_check_rolling},
    {"_ends(terminated, done)", HIDDEN, .build = fn_ends},
    {.signature = NULL},
};
