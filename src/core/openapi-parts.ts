import type { Json } from './openapi-schemas.ts'

/** Parts of the OpenAPI document that are the same whatever the operations are. */

export const securitySchemes: Json = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token; it lives 15 minutes' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key; it was shown once' },
  ownToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token made for this operation alone; see its description',
  },
  signedUrl: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description: 'A signed URL, used exactly as it was given: no header is needed, so that `src` of an image takes it',
  },
}

function header(name: string, description: string, schema: Json): Json {
  return { name, in: 'header', required: false, description, schema }
}

export const parameters: Json = {
  RequestId: header('X-Request-Id', 'A name for this request; it comes back, is logged and stands in errors', {
    type: 'string',
    pattern: '^[\\w-]{1,128}$',
  }),
  IdempotencyKey: header(
    'Idempotency-Key',
    'Any new text for each new request. Repeating a request under its key repeats the first answer, for 24 hours.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  IfMatch: header('If-Match', 'The ETag of the version that the change is meant for; 412 when there is a newer one', {
    type: 'string',
  }),
  IfNoneMatch: header('If-None-Match', 'An ETag that is known already; 304 when nothing has changed', {
    type: 'string',
  }),
  Range: header('Range', 'One range of bytes, such as `bytes=0-1023`; answered with 206, or 416', { type: 'string' }),
  IfRange: header('If-Range', 'The ETag of the file to which Range belongs; another file is sent whole', {
    type: 'string',
  }),
  ContentRange: header(
    'Content-Range',
    'Which bytes of the file the body has, such as `bytes 1048576-2097151/5000000`',
    {
      type: 'string',
    },
  ),
}

function text(description: string): Json {
  return { description, schema: { type: 'string' } }
}

export const headers: Json = {
  'X-Request-Id': text('The name of the request'),
  ETag: text('The version of the resource, for If-Match and If-None-Match'),
  Location: text('Where what was made is'),
  Link: text('`rel="ice-server"`: servers that help a client to connect'),
  'Accept-Ranges': text('`bytes`'),
  'Content-Range': text('Which bytes these are, of a 206'),
  'Content-Disposition': text('The name of the file, and whether to show or to save it'),
  'Idempotent-Replayed': text('`true` when this is the repetition of an earlier answer'),
  RateLimit: text('What is left of the limit and in how many seconds it is whole again: `"write";r=57;t=12`'),
  'RateLimit-Policy': text('The limit: `"write";q=300;w=60` allows 300 in 60 seconds'),
  'Retry-After': { description: 'Seconds to wait before trying again', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': text('`Bearer`'),
}
