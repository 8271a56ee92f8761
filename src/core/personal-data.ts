/** How the export of a person's data contains the rows of a table. */
export interface ExportedRows {
  /** Name of the file in the archive, without its ending. */
  readonly file: string
  /** The columns that identify a row among those of one person; `id` by default. */
  readonly key?: readonly string[]
  /** Columns that are left out: secrets, internal values, and what says something about other people. */
  readonly omit?: readonly string[]
  /**
   * The storage key of a row's file. The column `name` is the name of the file. Files of a workspace are in the archive
   * while the person is a member of it.
   */
  readonly content?: (row: Readonly<Record<string, string>>) => string
}

/** What a column that names a user means for the export of their data and the deletion of their account. */
export interface PersonalColumn {
  /** What the rows say about the person. One sentence for the person. */
  readonly about: string
  /** The rows in the export, or why they are not in it. */
  readonly export: ExportedRows | { readonly never: string }
  /**
   * The column holds the id of a row of this column's table (`ledger_accounts.owner_id`), which belongs to the person.
   * Absent: the column holds the person's id.
   */
  readonly through?: string
  /**
   * What happens when the account is deleted for good. `kept` says why rows stay. They then refer to an account without
   * name and address.
   */
  readonly deletion: 'deleted' | { readonly kept: string }
}

/** By column, as `table.column`. */
export type PersonalData = Readonly<Record<`${string}.${string}`, PersonalColumn>>
