import type { HttpRequest } from 'uWebSockets.js'

/**
 * Describes an error in the headers that delimit a request's body; undefined if they are valid. uWS uses the first of
 * several Content-Length headers and accepts any Transfer-Encoding that ends in `chunked`. If a proxy in front decides
 * otherwise, one of the two sees a second request where the other sees a body (request smuggling; RFC 9112, 6.3 and
 * 11.2).
 */
export function framingFault(request: HttpRequest, hasBody: boolean): string | undefined {
  const encoding = request.getHeader('transfer-encoding')
  const length = request.getHeader('content-length')
  // An empty header looks like a missing one. Requests without a body are not searched, because that takes a call per
  // header.
  if (!hasBody && encoding === '' && length === '') return undefined
  const encodings: string[] = []
  const lengths: string[] = []
  request.forEach((name, value) => {
    if (name === 'transfer-encoding') encodings.push(value)
    else if (name === 'content-length') lengths.push(value)
  })
  if (encodings.length > 0 && encodings.join(',').toLowerCase() !== 'chunked') {
    return 'Transfer-Encoding can only be `chunked`.'
  }
  if (lengths.length > 1) return 'Content-Length must be sent once.'
  if (lengths[0] === '') return 'Content-Length must be a number.'
  return undefined
}
