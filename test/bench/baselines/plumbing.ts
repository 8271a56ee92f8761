/** What the handwritten servers share: one API key from the environment, bodies, replies, and clients that leave. */
import type { HttpResponse } from 'uWebSockets.js'

const key = process.env['API_KEY'] ?? ''

/** Whether the client has closed the connection, after which its response must not be touched. */
export interface Gone {
  aborted: boolean
}

/** Refuses a request without the API key. @returns undefined then */
export function guarded(response: HttpResponse, given: string): Gone | undefined {
  const gone = { aborted: false }
  response.onAborted(() => {
    gone.aborted = true
  })
  if (given === key) return gone
  response.writeStatus('401 Unauthorized').end()
  return undefined
}

export function onBody(response: HttpResponse, done: (body: unknown) => void): void {
  let text = ''
  response.onData((chunk, isLast) => {
    text += Buffer.from(chunk).toString('utf8')
    if (isLast) done(JSON.parse(text))
  })
}

export function send(response: HttpResponse, gone: Gone, status: string, body: string): void {
  if (gone.aborted) return
  response.cork(() => {
    response.writeStatus(status).writeHeader('Content-Type', 'application/json')
    response.end(body)
  })
}

/** What to do when a request fails: a 500, so that the benchmark counts it. */
export function failed(response: HttpResponse, gone: Gone) {
  return (error: unknown) => {
    console.error(error)
    send(response, gone, '500 Internal Server Error', '{}')
  }
}
