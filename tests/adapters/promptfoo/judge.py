def get_assert(output, context):
    return {"pass": "Paris" in output, "score": 0.5, "reason": context["vars"]["q"]}


def long_enough(output, context):
    return len(output) / 100
