"""OpenAI's Responses wire, and every server that imitates it: asked without any state on the server's side."""
