"""What the reference says of each address, marked for translation: docstrings and tags alone are not found there."""

from contracts.rules.words import N_

GROUPS = (
    N_("Reading"),
    N_("Owning a task"),
    N_("Operations and approvals"),
    N_("Operators only"),
)
DEEDS = (
    N_("Return every contract within reach of the token."),
    N_("Return the whole contract as exported JSON; its ETag is the revision."),
    N_("Return the resume decision for this worker, with all ten checks; nothing is changed by asking."),
    N_("Return one operation of the ledger, with its newest approval item and what may be done with it."),
    N_("Return one approval item; `wait` holds the answer until it is decided, at most so many seconds."),
    N_("Take the task if the resume decision allows it; whoever comes second is told who holds it."),
    N_("Keep the task for another lease. A late renewal is in time while nobody took over."),
    N_("Let the task go. `finished` completes it, or is refused while something is left to do."),
    N_("End a task of which nothing is left to do."),
    N_("Ask for a pause: nothing new is begun, and what is in flight ends first."),
    N_("Begin a step of the journal, or get the stored result of one that is done: it is not run again."),
    N_("Commit one step: checkpoint, journal entry, objects, artefacts and usage stand or fall together."),
    N_("Get the next objects to work on, in the contract's order; none that is confirmed, none twice."),
    N_("Give objects back unfinished; another may take them."),
    N_("Tell of another version of a source; only the objects made from it are rechecked."),
    N_("Store the intention of one write. The same call again gives what is stored."),
    N_(
        "Ask for a person's consent to this very call; an item that waits or is approved is given back as it is."
    ),
    N_("Store that the call is about to leave; its approval is used up. Only then send it."),
    N_("Store what became of the call. A time-out or a cut line is `unknown`, never a success."),
    N_(
        "Store how the target was asked about a call of unknown result; the answer says what may be done next."
    ),
    N_("Give up a pending call that was certainly never sent."),
    N_("Hand a call nobody can know about to the named person; the task is paused and no longer owned."),
    N_("Intend the call that takes a confirmed one back, where its tool names one."),
    N_("Open the next round of a call that was rejected or given up: another operation, asked for anew."),
    N_("Let the single write proxy send the call, and get what became of it."),
    N_("Refused to workers, and recorded: an operator ends an attempt on the page of the contract."),
    N_("Refused to workers, and recorded: an operator rolls back on the page of the contract."),
    N_("Refused to workers, and recorded: an operator raises a cap on the page of the contract."),
)
