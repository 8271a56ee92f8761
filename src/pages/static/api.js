/**
 * Sends a request to the API.
 * @returns {Promise<{ ok: boolean, message: string, data?: any, code?: string, details?: any }>} the result, with a message for the user
 */
async function send(path, init) {
  try {
    const response = await fetch(path, init)
    const body = await response.json()
    const details = (body.errors ?? []).map(({ message }) => message)
    const message = [body.message, ...details].join(' ')
    return { ok: response.ok, message, data: body.data, code: body.code, details: body.details }
  } catch {
    return { ok: false, message: 'The server is not responding. Try again in a moment.' }
  }
}

export function get(path, accessToken) {
  return send(path, accessToken === undefined ? {} : { headers: { Authorization: `Bearer ${accessToken}` } })
}

export function post(path, body, accessToken) {
  const headers = {}
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (accessToken !== undefined) headers.Authorization = `Bearer ${accessToken}`
  return send(path, { method: 'POST', headers, body: body === undefined ? undefined : JSON.stringify(body) })
}

/** Shows a result as the page's status or as its error. */
export function say({ ok, message }) {
  document.querySelector('[role=status]').textContent = ok ? message : ''
  document.querySelector('[role=alert]').textContent = ok ? '' : message
}
