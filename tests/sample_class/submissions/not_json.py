My notebook did not save, sorry. I will send it tomorrow.
