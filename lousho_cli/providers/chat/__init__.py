"""Chat completions: OpenAI's own, and every server that imitates them."""
