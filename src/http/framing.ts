import type { HttpRequest } from 'uWebSockets.js'

/**
 * What is wrong with the headers that say where a request's body ends; undefined when nothing is. uWS takes the first
 * of several Content-Length headers and reads any Transfer-Encoding that ends in `chunked`. Where a proxy in front
 * decides otherwise, one of the two sees a second request where the other sees a body (RFC 9112, 6.3 and 11.2).
 */
export function framingFault(request: HttpRequest, hasBody: boolean): string | undefined {
  const encoding = request.getHeader('transfer-encoding')
  const length = request.getHeader('content-length')
  // An empty header reads as a missing one. A request without a body is not searched for it: that takes a call a header.
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
