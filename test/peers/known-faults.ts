/**
 * Known errors in the descriptions, which third parties maintain. By platform: a pattern for the line that the comparison
 * prints, and what is wrong in the description.
 */
const KNOWN: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  x: [
    [/must have required property '(?:meta|type)'/, 'requires `meta` and `type`, which the same schemas do not have'],
    [/\/append 200: request\.body/, 'describes the file as Base64, and a segment matches two of its schemas'],
  ],
  threads: [
    [/query\.metric:/, 'takes one metric; Meta’s pages have lists of them, with `shares`'],
    [/body\.status:/, 'lacks PUBLISHED and EXPIRED of the status of a container'],
  ],
  facebook: [
    [/request: Supported content types: application\/json/, 'takes JSON only; the examples on Meta’s pages are forms'],
    [/upload_phase: /, 'has uppercase phases; the Reels Publishing API uses lowercase'],
  ],
  instagram: [
    [/request: Supported content types: application\/json/, 'takes JSON only; the examples on Meta’s pages are forms'],
    [
      /refresh_access_token 200: request: Invalid security scheme/,
      'has the token in the header; Meta takes it in the URL',
    ],
  ],
  linkedin: [
    [/required property 'fileSizeBytes'/, 'requires the size of an image; the Images API takes the owner only'],
    [/body\.status:/, 'lacks AVAILABLE and WAITING_UPLOAD of the Images and Videos APIs'],
    [/query\.action:/, 'lacks `finalizeUpload` of the Videos API'],
    [/POST \/rest\/videos 200: response/, 'has one reply for both actions; `finalizeUpload` has no reply body'],
  ],
  telegram: [
    [/must match exactly one schema in oneOf/, 'lists schemas that overlap, so a form value matches several'],
    [/open_period must be <= 600/, 'is older than polls that are open for a month'],
    [/sendMediaGroup 200: request\.body\.media: .* must be array/, 'expects an array; a form sends it as JSON text'],
  ],
  tiktok: [[/\/oauth\/\w+\/ 200: request: Invalid security/, 'asks for a token where tokens are issued and revoked']],
  reddit: [
    [/body\.data\.(?:after|before): .* must be string/, 'lacks null, which the first and last page of a listing have'],
    [/required property 'parent'/, 'calls `thing_id` of reddit.com/dev/api `parent`'],
  ],
}

/** The known error in a description that explains a violation. Undefined if there is none. */
export function faultOf(platform: string, line: string): string | undefined {
  return KNOWN[platform]?.find(([pattern]) => pattern.test(line))?.[1]
}
