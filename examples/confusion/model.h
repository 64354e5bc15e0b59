// model.h - a model of modc as a C++ object: parameters from a file and a context over them, freed with it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "modc.h"

inline void check(modc_status status)
{
    if (status != MODC_OK)
        throw std::runtime_error(modc_status_text(status));
}

// Of `struct NAME` and `struct NAME_params`, made from NAME_model: `forward(net, ...)` of NAME.h takes net.get().
template <class Context, class Params> class Model
{
  public:
    Model(const modc_model &model, const std::string &weights)
    {
        const auto report = std::make_unique<modc_report>(); // 20 KB: not on the stack
        modc_params *params = nullptr;
        modc_context *net = nullptr;

        check(modc_params_create(&model, &params));
        params_.reset(params);
        if (modc_load(params, weights.c_str(), MODC_STRICT, report.get()) != MODC_OK)
            throw std::runtime_error(weights + ": " + text(*report));
        check(modc_pack(params, nullptr, 0));
        check(modc_create(&model, params, 0, &net));
        net_.reset(net);
    }

    Context *get() const
    {
        return reinterpret_cast<Context *>(net_.get());
    }

    Params *params() const
    {
        return reinterpret_cast<Params *>(params_.get());
    }

  private:
    static void append(void *out, const char *piece, size_t length)
    {
        static_cast<std::string *>(out)->append(piece, length);
    }

    // What PyTorch would say about the file.
    static std::string text(const modc_report &report)
    {
        std::string out;

        modc_report_print(&report, append, &out);
        return out;
    }

    struct Free {
        void operator()(modc_params *params) const
        {
            modc_params_destroy(params);
        }
        void operator()(modc_context *net) const
        {
            modc_destroy(net);
        }
    };

    std::unique_ptr<modc_params, Free> params_;
    std::unique_ptr<modc_context, Free> net_; // freed before them
};
