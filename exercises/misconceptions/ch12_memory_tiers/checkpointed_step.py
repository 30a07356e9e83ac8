"""Wrong answers to `checkpointed_step` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("other_elements", "that of another forward pass", "random.set(states.pop())", "states.pop()"),
    edit("state_moved_on", "The next step would draw other numbers", "random.set(after)", "pass"),
    whole(
        "keeps_everything",
        "In the first forward pass nobody needs it",
        """
        def checkpointed_step(layers, x, dy, k, random):
            kept, y = [], x
            for layer in layers:
                y, one = layer.forward(y)
                kept.append(one)
            for layer in reversed(layers):
                dy = layer.backward(kept.pop(), dy)
            return y, dy
        """,
    ),
    whole(
        "keeps_all_inputs",
        "The inputs in between are computed again",
        """
        def checkpointed_step(layers, x, dy, k, random):
            inputs, states, y = [], [], x
            for layer in layers:
                inputs.append(y)
                states.append(random.get())
                y = layer.forward(y)[0]
            after = random.get()
            for layer in reversed(layers):
                random.set(states.pop())
                kept = layer.forward(inputs.pop())[1]
                dy = layer.backward(kept, dy)
            random.set(after)
            return y, dy
        """,
    ),
    whole(
        "each_layer_from_its_segment",
        "Twice is enough: once to get to the end",
        """
        def checkpointed_step(layers, x, dy, k, random):
            inputs, states, y = [], [], x
            for place, layer in enumerate(layers):
                if place % k == 0:
                    inputs.append(y)
                    states.append(random.get())
                y = layer.forward(y)[0]
            after = random.get()
            for place in reversed(range(len(layers))):
                random.set(states[place // k])
                now = inputs[place // k]
                for layer in layers[place // k * k : place + 1]:
                    now, kept = layer.forward(now)
                dy = layers[place].backward(kept, dy)
                del inputs[(place + k - 1) // k :]
            random.set(after)
            return y, dy
        """,
    ),
    edit("first_kept_first", "The last layer of a segment goes backward first", "kept.pop()", "kept.pop(0)"),
    edit(
        "takes_both",
        "forward returns two things, (y, kept)",
        *("now, one = layer.forward(now)", "now = one = layer.forward(now)"),
    ),
    edit(
        "from_the_first_segment",
        "Each layer goes backward once, from the last",
        "reversed(range(0, len(layers), k))",
        "range(0, len(layers), k)",
    ),
    edit("gradient_alone", "Return two arrays like x", "return y, dy", "return dy"),
    edit("of_the_first_segment", "in the first forward pass.", "return y,", "return now,"),
    edit(
        "the_same_gradient",
        "takes the gradient that the layer behind it has returned",
        "dy = layer.backward(kept.pop(), dy)",
        "dx = layer.backward(kept.pop(), dy)",
        "return y, dy",
        "return y, dx",
    ),
    edit("rounded", "float64 carries 16 digits", "return y,", "return y.astype('float32').astype('float64'),"),
    edit("as_text", "random.get() returns the state", "random.set(states.pop())", "random.set(str(states.pop()))"),
    edit("takes_layers_away", "Slices of a list are copies", "random.set(after)", "random.set(after), layers.pop()"),
    whole(
        "whole_segments",
        "The last segment may have fewer than k layers",
        """
        def checkpointed_step(layers, x, dy, k, random):
            inputs, states, y = [], [], x
            for place, layer in enumerate(layers):
                if place % k == 0:
                    inputs.append(y)
                    states.append(random.get())
                y = layer.forward(y)[0]
            after = random.get()
            for first in reversed(range(0, len(layers), k)):
                now, kept = inputs.pop(), []
                random.set(states.pop())
                for place in range(first, first + k):
                    now, one = layers[place].forward(now)
                    kept.append(one)
                for place in reversed(range(first, first + k)):
                    dy = layers[place].backward(kept.pop(), dy)
            random.set(after)
            return y, dy
        """,
    ),
]
