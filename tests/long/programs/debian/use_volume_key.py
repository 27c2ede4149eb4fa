# packages: python3-volume-key
import tempfile

import volume_key

ui = volume_key.UI()
ui.generic_cb = lambda prompt, echo: None
with tempfile.NamedTemporaryFile(dir=".") as file:
    file.write(b"no volume" * 1000)
    file.flush()
    try:
        volume_key.Volume.open(file.name)
    except RuntimeError as error:
        assert file.name in str(error), error
    else:
        raise AssertionError("opened a file that is no volume")
