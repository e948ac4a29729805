"""A background worker that is killed when it has taken a job and not yet begun its run."""

import asyncio
import os
import signal

import django


async def take():
    from procrastinate.contrib.django import app

    from contracts.gates.drilling import QUEUE

    with app.replace_connector(app.connector.get_worker_connector()):
        async with app.open_async():
            worker = await app.job_manager.register_worker()
            job = await app.job_manager.fetch_job(queues=[QUEUE], worker_id=worker)
            assert job is not None
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    django.setup()
    asyncio.run(take())
