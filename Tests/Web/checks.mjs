// A line for each check. The last line says how many have passed; before it the failed ones stand once more.

const passed = [];
const failed = [];
const only = process.env.ONLY && new RegExp(process.env.ONLY);

function fail(name, error) {
  const line = `FAILED  ${name}: ${error?.message ?? error}`;
  failed.push(line);
  console.log(line);
}

/** `body` returns a note, or throws. `explain` says more about a failure. ONLY is a pattern of the checks to run. */
export async function check(name, body, explain = undefined) {
  if (only && !only.test(name)) return;
  const started = Date.now();
  try {
    const note = await body();
    passed.push(name);
    console.log(`ok      ${name}${note ? `: ${note}` : ''} (${Date.now() - started} ms)`);
  } catch (error) {
    fail(name, error);
    await explain?.();
  }
}

/** Ends the program. What it has started ends with it. */
export function finish() {
  if (failed.length === 0) {
    console.log(`${passed.length} checks passed`);
    process.exit(0);
  }
  console.log(`${failed.length} of ${passed.length + failed.length} checks failed:`);
  for (const line of failed) console.log(line);
  process.exit(1);
}

process.on('uncaughtException', (error) => {
  fail('outside of the checks', { message: error?.stack ?? error });
  finish();
});

export function holds(condition, what) {
  if (!condition) throw new Error(what);
}

export function same(found, expected, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: found ${a?.slice(0, 400)}, expected ${b?.slice(0, 400)}`);
}

export const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
