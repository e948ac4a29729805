#!/bin/sh
# A worker in another language than Python, to be drilled and to be imitated; it needs sh and curl, nothing else:
#     manage.py drill --command "sh tests/drills/own_worker.sh" --target checks_generation
# The runner says in DRILL_… what to work on. Every line printed here is a mark that the runner counts by.
set -eu
own=$DRILL_FOLDER/own # what this worker remembers; it outlives every kill of one repetition
mkdir -p "$own"

reach() { # POINT OBJECT: say that we are here, and stop if this is where the runner wants us to
    echo "reached $1 $2"
    if [ "${DRILL_CRASH:-}" = "$1:$2" ]; then read -r _ || exit 1; fi
}

store() { # FILE, from standard input: the file is whole, or it is the former one
    cat >"$1.$$"
    sync "$1.$$" 2>/dev/null || sync
    mv "$1.$$" "$1"
}

is_fresh() { # OBJECT: tell whether there is a draft, and it rests on the source as it is now
    [ -e "$own/$1.draft" ] && [ "$(sed 1q "$own/$1.draft")" = "$(cat "$DRILL_FOLDER/sources/$1")" ]
}

draft() { # OBJECT: call the model, whose words differ at every call, and keep what it said
    echo "model $1"
    source=$(cat "$DRILL_FOLDER/sources/$1")
    text="$1 as of $source (wording $(od -An -N4 -tx1 /dev/urandom | tr -d ' \n'))"
    reach drafted "$1"
    printf '%s\n%s\n' "$source" "$text" | store "$own/$1.draft"
    echo "committed $1"
    reach committed "$1"
}

require_yes() { # OBJECT: a person's yes is for the very draft that was shown, and for no later one
    if cmp -s "$own/$1.draft" "$own/$1.shown"; then
        if [ "$DRILL_FOLDER/approved/$1" -nt "$own/$1.shown" ]; then return; fi
    else
        store "$own/$1.shown" <"$own/$1.draft"
    fi
    echo "waiting $1"
    exit 75 # start me again later
}

find_page() { # KEY: ask the target for what was written under this key; prints its reference, or nothing
    curl -fsS -m 5 -G --data-urlencode "key=$1" "$DRILL_TARGET/pages" |
        sed -n 's/.*"references": *\["\([^"]*\)".*/\1/p'
}

send() { # OBJECT KEY: write the page; prints its reference, or nothing where no receipt came
    body='{"key":"%s","generation":%s,"content":{"page":"%s","source":"%s","text":"%s"}}'
    { read -r source && read -r text; } <"$own/$1.draft"
    body=$(printf "$body" "$2" "$DRILL_START" "$1" "$source" "$text")
    curl -fsS -m 5 -H 'Content-Type: application/json' -d "$body" "$DRILL_TARGET/pages" |
        sed -n 's/.*"reference": *"\([^"]*\)".*/\1/p'
}

publish() { # OBJECT: its key is the place and the source, so that other words get no other key
    key=$DRILL_TASK/$1/$(sed 1q "$own/$1.draft")
    page=
    # Whoever was here before may have sent it. What is not there may still come: only the target can keep that out.
    if [ -e "$own/$1.sending" ]; then page=$(find_page "$key"); fi
    store "$own/$1.sending" </dev/null
    reach leaving "$1"
    if [ -z "$page" ]; then page=$(send "$1" "$key"); fi
    if [ -z "$page" ]; then exit 75; fi # nobody knows; the next start asks first
    echo "sent $1"
    reach sent "$1"
    echo "$page" | store "$own/$1.page"
}

reach ready -
for object in $(echo "$DRILL_OBJECTS" | tr , ' '); do
    if [ -e "$own/$object.page" ]; then continue; fi
    is_fresh "$object" || draft "$object"
    if [ "$object" = "${DRILL_APPROVAL:-}" ]; then require_yes "$object"; fi
    publish "$object"
done
echo "done"
