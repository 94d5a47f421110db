/* SPDX-License-Identifier: MIT */
/*
 * Provider mysql of a MariaDB server, which was built without probes. Where a THD keeps what the
 * probes tell is in the code of the functions that return it: the bytes in the names of the files
 * below are theirs, and a server with other bytes does not have these probes. They are those of
 * MariaDB 10.11 for x86-64.
 */
inline uintptr_t __mysql_word[uintptr_t A] = *(userland uintptr_t *)A;
inline uint64_t __mysql_id[uintptr_t T] = *(userland uint64_t *)(T + 0x3f18);	/* thd_get_thread_id() */
inline userland char *__mysql_db[uintptr_t T] = (userland char *)__mysql_word[T + 0xa0]; /* thd_current_db() */
inline uintptr_t __mysql_client[uintptr_t T] = __mysql_word[T + 0x25f8];
inline userland char *__mysql_host[uintptr_t T] = (userland char *)__mysql_word[__mysql_client[T]]; /* thd_client_host() */
inline userland char *__mysql_user[uintptr_t T] = (userland char *)__mysql_word[__mysql_client[T] + 8]; /* thd_user_name() */
inline userland char *__mysql_text[uintptr_t T] = (userland char *)__mysql_word[T + 0x68]; /* thd_query_string() */
inline int __mysql_errno[uintptr_t T] = *(userland int *)(__mysql_word[T + 0x62e0] + 8); /* thd_get_error_number() */

inline int __mysql_command[uintptr_t T] = *(userland int *)(T + 0x27d8); /* thd_current_command() */

inline int __MYSQL_COM_QUERY = 3;

provider mysql {
	probe connection__start(uint64_t id, userland char *user, userland char *host)
		= pid:mariadbd`thd_get_thread_id-488b87183f0000c3`thd_client_host-488b87f82500004885c07403488b00c3`thd_user_name-488b87f82500004885c07404488b4008c3:_Z28prepare_new_connection_stateP3THD:entry
		(__mysql_id[arg0], __mysql_user[arg0], __mysql_host[arg0]);
	probe connection__done(int status, uint64_t id)
		= pid:mariadbd`thd_get_thread_id-488b87183f0000c3:_Z16close_connectionP3THDj:entry
		((int)arg1, __mysql_id[arg0]);

	probe command__start(uint64_t id, int command, userland char *user, userland char *host)
		= pid:mariadbd`thd_get_thread_id-488b87183f0000c3`thd_client_host-488b87f82500004885c07403488b00c3`thd_user_name-488b87f82500004885c07404488b4008c3:_Z16dispatch_command19enum_server_commandP3THDPcjb:entry
		(__mysql_id[arg1], (int)arg0, __mysql_user[arg1], __mysql_host[arg1]);
	probe command__done(int status)
		= pid:mariadbd`thd_get_error_number-488b87e06200008b4008c3:_Z18log_slow_statementP3THD:entry
		(__mysql_errno[arg0] != 0);

	probe query__start(userland char *text, uint64_t id, userland char *db, userland char *user, userland char *host)
		= pid:mariadbd`thd_get_thread_id-488b87183f0000c3`thd_current_db-488d87a0000000c3`thd_client_host-488b87f82500004885c07403488b00c3`thd_user_name-488b87f82500004885c07404488b4008c3:_Z16dispatch_command19enum_server_commandP3THDPcjb:entry
		/(int)arg0 == __MYSQL_COM_QUERY/
		((userland char *)arg2, __mysql_id[arg1], __mysql_db[arg1], __mysql_user[arg1], __mysql_host[arg1]);
	/* the end of a command, where its error is still known */
	probe query__done(int status)
		= pid:mariadbd`thd_get_error_number-488b87e06200008b4008c3`thd_current_command-8b87d8270000c3:_Z18log_slow_statementP3THD:entry
		/__mysql_command[arg0] == __MYSQL_COM_QUERY/ (__mysql_errno[arg0] != 0);

	probe query__parse__start(userland char *text)
		= pid:mariadbd`thd_query_string-488d4768c3:_Z9parse_sqlP3THDP12Parser_stateP19Object_creation_ctxb:entry
		(__mysql_text[arg0]);
	probe query__parse__done(int status)
		= pid:mariadbd:_Z9parse_sqlP3THDP12Parser_stateP19Object_creation_ctxb:return ((uint8_t)arg1);
	probe query__exec__start(userland char *text, uint64_t id, userland char *db, userland char *user, userland char *host, int type)
		= pid:mariadbd`thd_get_thread_id-488b87183f0000c3`thd_current_db-488d87a0000000c3`thd_query_string-488d4768c3`thd_client_host-488b87f82500004885c07403488b00c3`thd_user_name-488b87f82500004885c07404488b4008c3:_Z21mysql_execute_commandP3THDb:entry
		(__mysql_text[arg0], __mysql_id[arg0], __mysql_db[arg0], __mysql_user[arg0], __mysql_host[arg0], 0);
	probe query__exec__done(int status)
		= pid:mariadbd:_Z21mysql_execute_commandP3THDb:return ((int)arg1);

	probe insert__row__start(userland char *db, userland char *table)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler12ha_write_rowEPKh:entry counts them";
	probe insert__row__done(int status)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler12ha_write_rowEPKh:entry counts them";
	probe update__row__start(userland char *db, userland char *table)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler13ha_update_rowEPKhS1_:entry counts them";
	probe update__row__done(int status)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler13ha_update_rowEPKhS1_:entry counts them";
	probe delete__row__start(userland char *db, userland char *table)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler13ha_delete_rowEPKh:entry counts them";
	probe delete__row__done(int status)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_ZN7handler13ha_delete_rowEPKh:entry counts them";
	probe filesort__start(userland char *db, userland char *table)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_Z8filesort*:entry counts them";
	probe filesort__done(int status)
		= "this server keeps the names of database and table where no function returns them: pid$target:mariadbd:_Z8filesort*:entry counts them";
};
