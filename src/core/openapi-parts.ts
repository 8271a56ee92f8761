import type { Json } from './openapi-schemas.ts'

/** Parts of the OpenAPI document that do not depend on the operations. */

export const securitySchemes: Json = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token, which is valid for 15 minutes, or an API key.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'An API key. It is shown only once, when it is created.',
  },
  ownToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token for this operation only. See the operation’s description.',
  },
  signedUrl: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description: 'A signed URL. Use it unchanged. It needs no header, so it works as the `src` of an image.',
  },
}

function header(name: string, description: string, schema: Json): Json {
  return { name, in: 'header', required: false, description, schema }
}

export const parameters: Json = {
  RequestId: header('X-Request-Id', 'An id for this request. It is returned, logged and included in errors.', {
    type: 'string',
    pattern: '^[\\w-]{1,128}$',
  }),
  IdempotencyKey: header(
    'Idempotency-Key',
    'A unique string for each new request. A request that is repeated with the same key within 24 hours returns the first reply.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  IfMatch: header(
    'If-Match',
    'The ETag of the version to change. The reply is 412 if the resource has a newer version.',
    {
      type: 'string',
    },
  ),
  IfNoneMatch: header(
    'If-None-Match',
    'The ETag of the version that the client has. The reply is 304 if it has not changed.',
    {
      type: 'string',
    },
  ),
  AcceptLanguage: header(
    'Accept-Language',
    'The languages of the reader (RFC 9110, 12.5.4). Without one that the server has texts in, the language of your settings applies.',
    { type: 'string' },
  ),
  Range: header(
    'Range',
    'One range of bytes, such as `bytes=0-1023`. The reply is 206, or 416 if the range is not in the file.',
    { type: 'string' },
  ),
  IfRange: header(
    'If-Range',
    'The ETag of the file that Range refers to. If the file has changed, all of it is sent.',
    {
      type: 'string',
    },
  ),
  ContentRange: header(
    'Content-Range',
    'The range of the file that the body contains, such as `bytes 1048576-2097151/5000000`',
    {
      type: 'string',
    },
  ),
}

function text(description: string): Json {
  return { description, schema: { type: 'string' } }
}

export const headers: Json = {
  'X-Request-Id': text('The id of the request'),
  ETag: text('The version of the resource, for If-Match and If-None-Match'),
  Location: text('The path of the new resource, or the page that the browser goes to'),
  'Cache-Control': text('How long the document may be stored (RFC 9111)'),
  'Content-Security-Policy': text('What the document may load and do when a browser shows it'),
  'Repr-Digest': text('SHA-256 of the whole file (RFC 9530)'),
  'X-Checksum-Sha256': text('SHA-256 of the whole file, hexadecimal'),
  'Set-Cookie': text('A cookie that the next request of the same browser needs'),
  Link: text('`rel="ice-server"`: STUN and TURN servers for the client'),
  'Accept-Ranges': text('`bytes`'),
  'Content-Range': text('The range of a 206 reply'),
  'Content-Language': text('The language of the document'),
  Vary: text('What else the reply depends on: the request headers that select it'),
  'Content-Disposition': text('The file name, and whether to show or to save the file'),
  'X-Robots-Tag': text('Asks search engines not to index the reply'),
  'Idempotent-Replayed': text('`true` when the reply repeats an earlier one'),
  RateLimit: text('The remaining requests, and the seconds until the limit is fully restored: `"write";r=57;t=12`'),
  'RateLimit-Policy': text('The limit: `"write";q=300;w=60` allows 300 requests in 60 seconds'),
  'Retry-After': { description: 'Seconds to wait before trying again', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': text('`Bearer`'),
}
