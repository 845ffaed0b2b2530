"""What lectures and checks are furnished with: sentences, pictures, live views, questions and models.

Nothing here is taught, and `course_utils`, which is, never imports it.

- `data`: German–English sentence pairs, from our own grammar or from files that readers bring.
- `corpus`: the grammar, which writes a sentence in both languages at once.
- `plotting`: pictures of one style, which change with the page between light and dark.
- `live`: views in which readers change numbers by hand, without a kernel.
- `questions`: questions that are answered on the spot, and what to say to each answer.
- `trained`: models that the course has trained, stored with their weights.
- `experiments`: models and tasks whose training takes too long for a lecture, or that several of them share.
- `published_weights`: models that other people have trained, from the reader's disk.
- `checkpoints`: the files that these come in.
- `handed_over`: functions and a model that checks hand to answers.
"""
