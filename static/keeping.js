// What is typed and not sent is kept in this browser: in IndexedDB, because Chromium writes localStorage to the disk only
// seconds later, and a killed browser would lose them. What looks like a credential is never kept.

/** Return the way to do one thing with what is kept under `name`; what was written is on the disk once it resolves. */
export function keepIn(name) {
  let opened;
  const open = () =>
    new Promise((resolve, reject) => {
      const asked = indexedDB.open(name, 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  return async (mode, act) => {
    opened ??= open();
    const database = await opened.catch((error) => {
      opened = undefined;
      throw error;
    });
    const work = database.transaction("kept", mode, { durability: "strict" });
    const asked = act(work.objectStore("kept"));
    return new Promise((resolve, reject) => {
      work.oncomplete = () => resolve(asked.result);
      work.onerror = work.onabort = () => reject(work.error);
    });
  };
}

const given = document.getElementById("secret-patterns")?.textContent;
/** The shapes of credentials that the page came with, as the server looks for them; none: nothing may be kept. */
export const shapes = JSON.parse(given ?? "[]").map((one) => ({ ...one, shape: new RegExp(one.source, one.flags) }));

/** Return the first shape of a credential found in `text`, if any. */
export function secretIn(text) {
  const low = text.toLowerCase();
  return shapes.find(({ hints, shape }) => (!hints || hints.some((hint) => low.includes(hint))) && shape.test(text));
}
