# packages: tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

tokenizer = Tokenizer(models.BPE(unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(["many snakes one head", "one process many snakes"] * 20,
                              trainers.BpeTrainer(vocab_size=60, special_tokens=["?"], show_progress=False))
assert tokenizer.encode("many snakes").tokens == ["many", "snakes"]
