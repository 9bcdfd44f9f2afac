"""A conversation of two inputs, with checks of its own."""

from lousho_cli import define_eval

talk = define_eval(agent="live.yaml", tags=["model"])


@talk.case("two questions", tags=["long"])
async def two_questions(t):
    first = await t.send("Tell me about trains")
    t.check("it speaks of trains", first, lambda text: "train" in text)
    await t.send("And about boats")
    t.completed()
    t.check("the reply", t.reply, "Boats are slow.")
    t.not_called_tool("weather")
    t.soft(t.max_steps(1))
