/**
 * The services that handlers can call. Each domain adds its own to this interface, in its `compose.ts`:
 *
 *     declare module '../core/services.ts' { interface Services { readonly streams: Streams } }
 *
 * `src/server/compose.ts` builds them once per node, with plain constructors.
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type -- domains extend it
export interface Services {}
