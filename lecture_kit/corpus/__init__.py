"""A small seeded grammar that writes German sentences together with their English translation.

German is the source language because its word order crosses the English one: infinitives wait at
the end of a clause, the verb comes second, first or last depending on the clause, prefixes part
from their verbs, adverbs of time come early. A model that copies word by word fails here.

Each sentence is built once, as a meaning, and written down in both languages at the same time.
Every English word remembers the German words that it renders, so the true alignment comes free.

From the words up, each module building on those before it:

- `words`, `nouns`, `verbs`: tables of what words mean, how they inflect, and which go together.
- `phrases`: a few words that belong together; German declension.
- `english`: the English verb group.
- `clauses`: German word order; how clauses are joined.
- `dice`, `draws`: random numbers; who acts, what they do and when, drawn with them.
- `messages`: what one clause can say.
- `statements`, `contrasts`, `reasons`: sentences of one clause, with und or aber, and with weil.
- `sentences`: how often each kind is drawn, and what comes out.
"""
