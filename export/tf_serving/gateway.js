// Checks requests before TensorFlow Serving reads them. It runs in nginx with its JavaScript module: see nginx.conf.
//
// The server hangs forever on a request without rows. It crashes on requests of different rank that share a batch,
// and on lists that are nested too deeply. So a request must have 1 to 64 rows, and each input must have the same
// form in all of them. The server receives the parsed request, serialized again: if a name occurs twice, gateway and
// server would otherwise use different values.

const MOST_ROWS = 64;  // max_rows of card.json
const MOST_IDS = 2048;  // maximum number of ids in a row
const NUMBER = /^-?[0-9]{1,10}$/;

const isText = (value) => typeof value === "string";
const isBytes = (value) => isObject(value) && Object.keys(value).join() === "b64" && isText(value.b64);
const isInteger = (value) => typeof value === "number" && NUMBER.test(String(value));
const isIds = (value) => Array.isArray(value) && value.length > 0 && value.length <= MOST_IDS && value.every(isInteger);
const isTextOrBytes = (value) => isText(value) || isBytes(value);

// The forms of all inputs, for signatures of text, files and ids. `target` and `prefix` are texts or ids.
const FORMS = {
  text: [isTextOrBytes], image_bytes: [isBytes], audio_bytes: [isBytes],
  target: [isTextOrBytes, isIds], prefix: [isTextOrBytes, isIds],
  source: [isIds], source_length: [isInteger], target_length: [isInteger], prefix_length: [isInteger],
};

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws an error unless all values of an input have one of its forms. */
function checkInput(name, values) {
  const forms = Object.prototype.hasOwnProperty.call(FORMS, name) ? FORMS[name] : [];
  if (!forms.some((fits) => values.every(fits))) throw new Error(`no valid ${name.slice(0, 40)}`);
}

function checkRows(rows) {
  if (!Array.isArray(rows) || rows.length < 1 || rows.length > MOST_ROWS) {
    throw new Error(`${Array.isArray(rows) ? rows.length : "no"} rows, and not 1 to ${MOST_ROWS}`);
  }
}

function checkInstances(rows) {
  checkRows(rows);
  if (rows.every(isTextOrBytes)) return;
  const names = isObject(rows[0]) ? Object.keys(rows[0]).sort() : [];
  if (!names.length || !rows.every((row) => isObject(row) && Object.keys(row).sort().join() === names.join())) {
    throw new Error("rows that are not all texts, or objects of the same names");
  }
  names.forEach((name) => checkInput(name, rows.map((row) => row[name])));
}

function checkColumns(columns) {
  if (!isObject(columns)) {
    checkRows(columns);
    checkInput("text", columns);
    return;
  }
  const names = Object.keys(columns);
  if (!names.length) throw new Error("no inputs");
  names.forEach((name) => {
    checkRows(columns[name]);
    if (columns[name].length !== columns[names[0]].length) throw new Error("columns of different lengths");
    checkInput(name, columns[name]);
  });
}

/** Return the body of a request, serialized again. Throws a one-line error if it must not reach the server. */
function checked(body) {
  const request = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));  // at most 32 levels
  if (!isObject(request)) throw new Error("no object");
  const names = Object.keys(request);
  if (names.some((name) => !["signature_name", "instances", "inputs"].includes(name))) throw new Error("an unknown key");
  if ("signature_name" in request && !isText(request.signature_name)) throw new Error("no valid signature_name");
  if (("instances" in request) === ("inputs" in request)) throw new Error("not one of instances and inputs");
  if ("instances" in request) checkInstances(request.instances);
  else checkColumns(request.inputs);
  return JSON.stringify(request);
}

function predict(r) {
  let body;
  try {
    body = checked(r.requestBuffer || new Uint8Array(0));
  } catch (error) {
    const received = String(error.message).split(/\s+/).join(" ").slice(0, 200);
    r.headersOut["Content-Type"] = "application/json";
    r.return(400, JSON.stringify({ error: `A request must have a form that the gateway supports. Received: ${received}.` }));
    return;
  }
  r.variables.checked_body = body;
  r.internalRedirect("@server");
}

export default { predict };
