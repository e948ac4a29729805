"""The control: a worker without a workbench. It keeps nothing, so it begins anew and sends until it is answered."""

import os
import sys
from types import SimpleNamespace

from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel


def main() -> None:
    model, pages = FakeModel(os.environ["MODEL_RECORD"]), Pages(os.environ["CONTENT_SYSTEM"])
    print("attempt", flush=True)
    for number in range(int(os.environ["OBJECTS"])):
        print(f"takes {number}", flush=True)
        text = model.write(f"object {number}")
    call = SimpleNamespace(key=text, generation=1, parameters={"page": "case-7/label", "text": text})
    for _ in range(3):
        try:
            pages.publish(call)  # type: ignore[arg-type]
            return
        except Exception:  # noqa: S112  # an error, so it seems, means that nothing happened
            continue
    sys.exit(1)


if __name__ == "__main__":
    main()
