/**
 * The services that handlers can call. Each domain adds its own to this interface:
 *
 *     declare module '../core/services.ts' { interface Services { streams: StreamServices } }
 *
 * `src/server/compose.ts` builds them once, with plain constructors.
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type -- domains extend it
export interface Services {}
