/** The part of https://www.npmjs.com/package/negotiator that is used. It has no types of its own. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    /** Those of the available language tags that the request accepts, the preferred one first. */
    languages(available: readonly string[]): string[]
  }
}
