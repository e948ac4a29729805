"""Whether a connection that waited in the pool is still one, asked without a round trip."""

import select
from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool


def check_if_it_spoke(connection: Connection[Any]) -> None:
    """Raise psycopg.OperationalError if the server has let go of this idle connection.

    A server that goes closes the line or says why, and either can be read. Only then is it asked: a question at
    every request would cost as much as the shortest of them.
    """
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)
