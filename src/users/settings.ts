export type StoredSettings = Record<string, unknown>
