// SPDX-License-Identifier: MIT
/**
 * @file
 * gorgon.h for C++17: owners, values and exceptions. What things mean is said there.
 *
 * Errors are thrown as gorgon::error. Owners are moved, not copied. A destructor cannot
 * report that something is still in use: it leaves it alive; close() reports it.
 */
#ifndef GORGON_HPP
#define GORGON_HPP

#include "gorgon.h"

#include <cmath>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gorgon
{

/** An error of the library, or an exception of Python. */
class error : public std::exception
{
public:
	/** Takes over an error object of the C interface, which must not be NULL. */
	explicit error(gorgon_error *err) : err_(err, gorgon_error_destroy)
	{
	}
	/** The message, as gorgon_error_message() has it; it lives as long as the exception. */
	const char *what() const noexcept override
	{
		return gorgon_error_message(err_.get());
	}
	/** What kind of failure it is. */
	enum ::gorgon_error_code code() const noexcept
	{
		return ::gorgon_error_code(err_.get());
	}
	/** Type, message and traceback if Python code raised, otherwise nullptr. */
	const gorgon_exception *exception() const noexcept
	{
		return gorgon_error_exception(err_.get());
	}

private:
	std::shared_ptr<gorgon_error> err_;
};

/** Throw gorgon::error unless the C interface has reported success (NULL). */
inline void check(gorgon_error *err)
{
	if (err)
		throw error(err);
}

/** Bytes, where a std::string is text. */
struct bytes {
	std::string data; /**< as they are; a zero byte has no meaning */
};

/** Memory that interpreters and the host look at; copies hold it, too. */
class array
{
public:
	/** Takes over the hold. */
	explicit array(gorgon_array *held) : array_(held, gorgon_array_release)
	{
	}
	/** Create an array, as gorgon_array_create() does. */
	explicit array(const gorgon_array_opts &opts)
	{
		gorgon_array *made;

		check(gorgon_array_create(&opts, &made));
		array_.reset(made, gorgon_array_release);
	}
	/** The array of the C interface, held as long as this object lives. */
	gorgon_array *get() const
	{
		return array_.get();
	}
	/** Where the items are and what they mean. */
	gorgon_array_info info() const
	{
		gorgon_array_info ret;

		gorgon_array_get_info(get(), &ret);
		return ret;
	}

private:
	std::shared_ptr<gorgon_array> array_;
};

class value;
/** A Python list, or a tuple that has crossed. */
using list = std::vector<value>;
/** Entries in their order; keys may be any value. */
using dict = std::vector<std::pair<value, value>>;

/**
 * A reference to a Python object of one interpreter; copies hold it, too. It may be used and
 * destroyed on any thread, also after the interpreter's end: what a call does then pyobjects.h
 * says.
 */
class object
{
public:
	/** Takes over the hold. */
	explicit object(gorgon_pyobject *held) : object_(held, gorgon_pyobject_release)
	{
	}
	/** The handle of the C interface, held as long as this object lives. */
	gorgon_pyobject *get() const
	{
		return object_.get();
	}
	/** Number of its interpreter. */
	unsigned interpreter() const
	{
		return gorgon_pyobject_interp(get());
	}
	/** An attribute, or an attribute of an attribute, separated by dots. */
	object attr(const std::string &name) const
	{
		return made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_get_attr(get(), name.c_str(), ret);
		});
	}
	/** Whether hasattr() says so. */
	bool has_attr(const std::string &name) const
	{
		bool ret;

		check(gorgon_pyobject_has_attr(get(), name.c_str(), &ret));
		return ret;
	}
	/** setattr() with a copy of a value. */
	void set_attr(const std::string &name, const value &to) const;
	/** object[key]; an exception of Python's is thrown as gorgon::error. */
	object operator[](const value &key) const;
	/** object[key] = value. */
	void set_item(const value &key, const value &to) const;
	/** Call it: object({1, "two"}). */
	object operator()(std::initializer_list<value> args = {}, const dict &kwargs = {}) const;
	/** Call it with positional and keyword arguments. */
	object call(const list &args, const dict &kwargs = {}) const;
	/** A copy as a value. */
	value to_value() const;
	/** type(object). */
	object type() const
	{
		return made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_get_type(get(), ret);
		});
	}
	/** isinstance(object, type). */
	bool is_instance(const object &type) const
	{
		bool ret;

		check(gorgon_pyobject_is_instance(get(), type.get(), &ret));
		return ret;
	}
	/** Whether both are one object. */
	bool is(const object &other) const
	{
		return gorgon_pyobject_is(get(), other.get());
	}

	/** For `for (gorgon::object item : object)`; each step is a call. */
	class iterator
	{
	public:
		using iterator_category = std::input_iterator_tag;
		using value_type = object;
		using difference_type = std::ptrdiff_t;
		using pointer = const object *;
		using reference = const object &;
		iterator() = default;
		explicit iterator(gorgon_pyobject *held) : iterator_(std::make_shared<object>(held))
		{
			++*this;
		}
		reference operator*() const
		{
			return *item_;
		}
		pointer operator->() const
		{
			return item_.get();
		}
		iterator &operator++()
		{
			gorgon_pyobject *item;

			check(gorgon_pyobject_next(iterator_->get(), &item));
			item_ = item ? std::make_shared<object>(item) : nullptr;
			return *this;
		}
		/** Only an end is equal to an end. */
		bool operator!=(const iterator &other) const
		{
			return item_ != other.item_;
		}
		bool operator==(const iterator &other) const
		{
			return item_ == other.item_;
		}

	private:
		std::shared_ptr<object> iterator_, item_;
	};
	/** Begin to iterate, as iter() does; one pass. */
	iterator begin() const
	{
		gorgon_pyobject *made;

		check(gorgon_pyobject_iterate(get(), &made));
		return iterator(made);
	}
	/** What an iterator equals that has met StopIteration. */
	iterator end() const
	{
		return iterator();
	}

private:
	friend class interpreter;
	friend class replica;
	/** What a function of the C interface returns. */
	template <typename F> static object made(F function)
	{
		gorgon_pyobject *ret;

		check(function(&ret));
		return object(ret);
	}
	std::shared_ptr<gorgon_pyobject> object_;
};

/** One object for all interpreters; copies hold it, too. */
class replica
{
public:
	/** Copy an object of one interpreter, for gorgon::value's of any other. */
	explicit replica(const object &from)
	{
		gorgon_replica *made;

		check(gorgon_replica_create(from.get(), &made));
		replica_.reset(made, gorgon_replica_release);
	}
	/** Takes over the hold. */
	explicit replica(gorgon_replica *held) : replica_(held, gorgon_replica_release)
	{
	}
	/** The replica of the C interface, held as long as this object lives. */
	gorgon_replica *get() const
	{
		return replica_.get();
	}
	/** The copy of an interpreter. */
	object in(const class interpreter &interp) const;

private:
	std::shared_ptr<gorgon_replica> replica_;
};

namespace detail
{

/** Integers and enumerations without a scope, but for the types that a value has as they are. */
template <typename T>
inline constexpr bool is_integer =
	!std::is_same_v<T, bool> && !std::is_same_v<T, int64_t> &&
	(std::is_integral_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, int64_t>));

template <typename T> int64_t checked_integer(T number)
{
	auto plain = +number; // an enumeration becomes the integer that it is

	if constexpr (std::is_unsigned_v<decltype(plain)> && sizeof(plain) >= sizeof(int64_t))
		if (plain > static_cast<decltype(plain)>(std::numeric_limits<int64_t>::max()))
			throw std::out_of_range("gorgon::value: " + std::to_string(plain) +
						" does not fit into 64 bits with a sign");
	return static_cast<int64_t>(plain);
}

template <typename T> double checked_double(T number)
{
	double ret = static_cast<double>(number);

	if (std::isinf(ret) && !std::isinf(number))
		throw std::out_of_range("gorgon::value: a long double that double does not hold");
	return ret;
}

} // namespace detail

/** None, bool, int, float, str, bytes, list, dict, array; and what can only be passed in: object,
 * replica. */
class value
	: public std::variant<std::nullptr_t, bool, int64_t, double, std::string, bytes, list, dict,
			      array, object, replica>
{
public:
	using variant::variant;
	value() : variant(nullptr)
	{
	}
	/** An integer of any type; std::out_of_range if 64 bits with a sign do not hold it. */
	template <typename T, std::enable_if_t<detail::is_integer<std::decay_t<T>>, int> = 0>
	value(T &&number) : variant(detail::checked_integer(number))
	{
	}
	/** What double does not hold exactly is rounded, as in C; std::out_of_range if that makes
	 * it infinite. */
	template <typename T, std::enable_if_t<std::is_same_v<std::decay_t<T>, float> ||
						       std::is_same_v<std::decay_t<T>, long double>,
					       int> = 0>
	value(T &&number) : variant(detail::checked_double(number))
	{
	}
	/** A text in UTF-8. */
	value(const char *text) : variant(std::string(text))
	{
	}
	/** What it holds; std::bad_variant_access if it is something else. */
	template <typename T> const T &get() const
	{
		return std::get<T>(static_cast<const variant &>(*this));
	}
	/** The integer that it holds, as a type of any width; std::out_of_range if that does not
	 * hold it, std::bad_variant_access if it is no integer. */
	template <typename T> T integer() const
	{
		static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
		int64_t held = get<int64_t>();
		T ret = static_cast<T>(held);

		if (static_cast<int64_t>(ret) != held || (held < 0) != (ret < T{}))
			throw std::out_of_range("gorgon::value: " + std::to_string(held) +
						" does not fit into " +
						std::to_string(8 * sizeof(T)) + " bits" +
						(std::is_signed_v<T> ? " with a sign" : ""));
		return ret;
	}
};

namespace detail
{

/** A tree as the C interface has it, over the memory of a value. */
class tree
{
public:
	explicit tree(const value &from)
	{
		fill(root, from);
	}
	tree(const tree &) = delete;
	gorgon_value root{};

private:
	static gorgon_value text(gorgon_value_kind kind, const std::string &from)
	{
		gorgon_value ret{};
		ret.kind = kind;
		ret.text.data = from.data();
		ret.text.size = from.size();
		return ret;
	}
	gorgon_value *room(gorgon_value &to, gorgon_value_kind kind, size_t count, size_t per_entry)
	{
		items_.push_back(std::make_unique<gorgon_value[]>(count * per_entry));
		to.kind = kind;
		to.list.items = items_.back().get();
		to.list.count = count;
		return to.list.items;
	}
	void fill(gorgon_value &to, const value &from)
	{
		switch (from.index()) {
		case GORGON_VALUE_NONE:
			break;
		case GORGON_VALUE_BOOL:
			to.boolean = from.get<bool>();
			break;
		case GORGON_VALUE_INT:
			to.integer = from.get<int64_t>();
			break;
		case GORGON_VALUE_FLOAT:
			to.number = from.get<double>();
			break;
		case GORGON_VALUE_STRING:
			to = text(GORGON_VALUE_STRING, from.get<std::string>());
			break;
		case GORGON_VALUE_BYTES:
			to = text(GORGON_VALUE_BYTES, from.get<bytes>().data);
			break;
		case GORGON_VALUE_LIST: {
			gorgon_value *item =
				room(to, GORGON_VALUE_LIST, from.get<list>().size(), 1);
			for (const value &each : from.get<list>())
				fill(*item++, each);
			break;
		}
		case GORGON_VALUE_DICT: {
			gorgon_value *item =
				room(to, GORGON_VALUE_DICT, from.get<dict>().size(), 2);
			for (const auto &entry : from.get<dict>()) {
				fill(*item++, entry.first);
				fill(*item++, entry.second);
			}
			break;
		}
		case GORGON_VALUE_ARRAY:
			to.array = from.get<array>().get();
			break;
		case GORGON_VALUE_OBJECT:
			to.object = from.get<object>().get();
			break;
		case GORGON_VALUE_REPLICA:
			to.replica = from.get<replica>().get();
			break;
		}
		// The alternatives are in the order of the kinds.
		to.kind = static_cast<gorgon_value_kind>(from.index());
	}
	std::vector<std::unique_ptr<gorgon_value[]>> items_;
};

inline value from_c(const gorgon_value &from)
{
	switch (from.kind) {
	case GORGON_VALUE_BOOL:
		return from.boolean;
	case GORGON_VALUE_INT:
		return from.integer;
	case GORGON_VALUE_FLOAT:
		return from.number;
	case GORGON_VALUE_STRING:
		return std::string(from.text.data, from.text.size);
	case GORGON_VALUE_BYTES:
		return bytes{std::string(from.text.data, from.text.size)};
	case GORGON_VALUE_LIST: {
		list ret;
		for (size_t i = 0; i < from.list.count; i++)
			ret.push_back(from_c(from.list.items[i]));
		return ret;
	}
	case GORGON_VALUE_DICT: {
		dict ret;
		for (size_t i = 0; i < from.list.count; i++)
			ret.emplace_back(from_c(from.list.items[2 * i]),
					 from_c(from.list.items[2 * i + 1]));
		return ret;
	}
	case GORGON_VALUE_ARRAY:
		return array(gorgon_array_retain(from.array));
	case GORGON_VALUE_OBJECT:
		return object(gorgon_pyobject_retain(from.object));
	default:
		return nullptr;
	}
}

/** Take over what the C interface returned. */
inline value take(gorgon_value &from)
{
	std::unique_ptr<gorgon_value, void (*)(gorgon_value *)> owner(&from, gorgon_value_deinit);

	return from_c(from);
}

} // namespace detail

inline void object::set_attr(const std::string &name, const value &to) const
{
	detail::tree c_to(to);

	check(gorgon_pyobject_set_attr(get(), name.c_str(), &c_to.root));
}

inline object object::operator[](const value &key) const
{
	detail::tree c_key(key);

	return made([&](gorgon_pyobject **ret) {
		return gorgon_pyobject_get_item(get(), &c_key.root, ret);
	});
}

inline void object::set_item(const value &key, const value &to) const
{
	detail::tree c_key(key), c_to(to);

	check(gorgon_pyobject_set_item(get(), &c_key.root, &c_to.root));
}

inline object object::operator()(std::initializer_list<value> args, const dict &kwargs) const
{
	return call(list(args), kwargs);
}

inline object object::call(const list &args, const dict &kwargs) const
{
	const value owned_args(args), owned_kwargs(kwargs);
	detail::tree c_args(owned_args), c_kwargs(owned_kwargs);

	return made([&](gorgon_pyobject **ret) {
		return gorgon_pyobject_call(get(), &c_args.root, &c_kwargs.root, ret);
	});
}

inline value object::to_value() const
{
	gorgon_value ret;

	check(gorgon_pyobject_get_value(get(), &ret));
	return detail::take(ret);
}

/** An interpreter that was started; the thread that makes it is Python's main thread. */
class interpreter
{
public:
	/** Create an interpreter and start Python in it; destroyed with this object. */
	explicit interpreter(const gorgon_interp_opts *opts = nullptr,
			     const gorgon_start_opts *start_opts = nullptr)
	{
		gorgon_interp *made;

		check(gorgon_interp_create(opts, &made));
		interp_.reset(made);
		check(gorgon_interp_start(made, start_opts));
	}
	/** Stop and destroy it: as gorgon_interp_stop() says. */
	void close()
	{
		check(gorgon_interp_stop(interp_.get()));
		unload();
	}
	/** As gorgon_interp_try_stop(). */
	void try_close()
	{
		check(gorgon_interp_try_stop(interp_.get()));
		unload();
	}
	/** As gorgon_interp_stop_within(). */
	void close_within(unsigned limit_ms)
	{
		check(gorgon_interp_stop_within(interp_.get(), limit_ms));
		unload();
	}
	/** The interpreter of the C interface; it stays this object's. */
	gorgon_interp *get() const
	{
		return interp_.get();
	}
	/** Run statements in `__main__`. */
	void run_string(const std::string &source, const char *name = nullptr)
	{
		check(gorgon_interp_run_string(get(), source.c_str(), name));
	}
	/** Run a file in `__main__`. */
	void run_file(const std::string &path)
	{
		check(gorgon_interp_run_file(get(), path.c_str()));
	}
	/** Run a module as `-m` does. */
	void run_module(const std::string &name)
	{
		check(gorgon_interp_run_module(get(), name.c_str()));
	}
	/** A function of `__main__`. */
	value call(const std::string &function, list args = {}, dict kwargs = {})
	{
		return call_in(nullptr, function, std::move(args), std::move(kwargs));
	}
	/** A function of a module. */
	value call_in(const char *module, const std::string &function, list args = {},
		      dict kwargs = {})
	{
		const value owned_args(std::move(args)), owned_kwargs(std::move(kwargs));
		detail::tree c_args(owned_args), c_kwargs(owned_kwargs);
		gorgon_value ret;

		check(gorgon_interp_call(get(), module, function.c_str(), &c_args.root,
					 &c_kwargs.root, &ret));
		return detail::take(ret);
	}
	/** A reference to an object of `__main__`, attributes separated by dots. */
	object global(const std::string &name) const
	{
		return object::made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_find(get(), nullptr, name.c_str(), ret);
		});
	}
	/** A reference to an object of a module, which is imported if need be. */
	object global(const std::string &module, const std::string &name) const
	{
		return object::made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_find(get(), module.c_str(), name.c_str(), ret);
		});
	}
	/** A reference to a module. */
	object import(const std::string &module) const
	{
		return object::made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_find(get(), module.c_str(), nullptr, ret);
		});
	}
	/** A reference to what a value becomes. */
	object from_value(const value &from) const
	{
		detail::tree c_from(from);

		return object::made([&](gorgon_pyobject **ret) {
			return gorgon_pyobject_create(get(), &c_from.root, ret);
		});
	}
	/** Raise KeyboardInterrupt in what runs, as gorgon_interp_interrupt() does. */
	void interrupt()
	{
		check(gorgon_interp_interrupt(get()));
	}
	/** Figures of the interpreter at this moment. */
	gorgon_interp_stats stats() const
	{
		gorgon_interp_stats ret{};

		ret.size = sizeof(ret);
		check(gorgon_interp_get_stats(get(), &ret));
		return ret;
	}
	/** A function or variable of its C API: symbol<const char *()>("Py_GetVersion"). */
	template <typename T> T *symbol(const char *name) const
	{
		return reinterpret_cast<T *>(gorgon_interp_find_symbol(get(), name));
	}

private:
	void unload()
	{
		check(gorgon_interp_destroy(interp_.get()));
		interp_.release();
	}
	struct destroy {
		void operator()(gorgon_interp *interp) const
		{
			gorgon_error_destroy(gorgon_interp_destroy(interp));
		}
	};
	std::unique_ptr<gorgon_interp, destroy> interp_;
};

inline object replica::in(const interpreter &interp) const
{
	return object::made([&](gorgon_pyobject **ret) {
		return gorgon_replica_get(get(), interp.get(), ret);
	});
}

namespace detail
{

using host_function = std::function<value(const list &, const dict &)>;

/** What a function has thrown, as an exception of Python. */
inline gorgon_error *thrown() noexcept
{
	try {
		throw;
	} catch (const error &err) {
		const gorgon_exception *exception = err.exception();

		return exception ? gorgon_exception_create(exception->type, exception->message)
				 : gorgon_exception_create("RuntimeError", err.what());
	} catch (const std::bad_alloc &) {
		return gorgon_exception_create("MemoryError", "no memory");
	} catch (const std::out_of_range &err) {
		return gorgon_exception_create("IndexError", err.what());
	} catch (const std::invalid_argument &err) {
		return gorgon_exception_create("ValueError", err.what());
	} catch (const std::exception &err) {
		return gorgon_exception_create("RuntimeError", err.what());
	} catch (...) {
		return gorgon_exception_create(
			"RuntimeError",
			"the host's function has thrown something that is no std::exception");
	}
}

inline gorgon_error *call_function(void *ctx, const gorgon_value *args, const gorgon_value *kwargs,
				   gorgon_answer *answer) noexcept
{
	try {
		tree c_ret((*static_cast<host_function *>(ctx))(from_c(*args).get<list>(),
								from_c(*kwargs).get<dict>()));

		return gorgon_answer_set(answer, &c_ret.root);
	} catch (...) {
		return thrown();
	}
}

} // namespace detail

/**
 * A callable of Python that calls a function of the host with positional and keyword arguments; see
 * gorgon_function_create(). What it throws is raised: a gorgon::error of Python's as the same
 * class, std::invalid_argument as ValueError, std::out_of_range as IndexError, std::bad_alloc as
 * MemoryError, everything else as RuntimeError.
 */
inline object function(const interpreter &interp, const std::string &name,
		       std::function<value(const list &, const dict &)> call,
		       const char *doc = nullptr)
{
	auto owned = std::make_unique<detail::host_function>(std::move(call));
	gorgon_function_opts opts{};
	gorgon_pyobject *made;

	opts.size = sizeof(opts);
	opts.name = name.c_str();
	opts.doc = doc;
	opts.call = detail::call_function;
	opts.ctx = owned.get();
	opts.destroy = [](void *ctx) { delete static_cast<detail::host_function *>(ctx); };
	check(gorgon_function_create(interp.get(), &opts, &made));
	owned.release();
	return object(made);
}

/** The memory of an object, without a copy; see gorgon_pyobject_view(). */
class view
{
public:
	/** Look at an object's memory; with @p writable, to write to it. */
	explicit view(const object &of, bool writable = false) : view_(nullptr, gorgon_view_release)
	{
		gorgon_view *made;

		check(gorgon_pyobject_view(of.get(), writable, &made));
		view_.reset(made);
	}
	/** Where the items are and what they mean; lives as long as this object. */
	gorgon_array_info info() const
	{
		gorgon_array_info ret;

		gorgon_view_get_info(view_.get(), &ret);
		return ret;
	}

private:
	std::unique_ptr<gorgon_view, void (*)(gorgon_view *)> view_;
};

/** A library that is loaded privately beside an interpreter, which must outlive it. */
class library
{
public:
	/** Load an object and what it needs into an interpreter's namespace. */
	library(const interpreter &interp, const std::string &path,
		const gorgon_open_opts *opts = nullptr)
	{
		gorgon_object *opened;

		check(gorgon_object_open(gorgon_interp_ns(interp.get()), path.c_str(), opts,
					 &opened));
		object_.reset(opened);
	}
	/** nullptr when it has none. */
	template <typename T> T *symbol(const char *name) const
	{
		return reinterpret_cast<T *>(
			gorgon_object_find_symbol(object_.get(), name, nullptr));
	}

private:
	struct close {
		void operator()(gorgon_object *object) const
		{
			gorgon_object_close(object);
		}
	};
	std::unique_ptr<gorgon_object, close> object_;
};

/** Host functions for private code; must outlive the interpreters that use it. */
class provider
{
public:
	/** Names and addresses that private code is given; copied. */
	provider(std::initializer_list<gorgon_table_entry> entries) : table_(entries)
	{
		table_.push_back({nullptr, nullptr});
		provider_ = gorgon_provider_table(table_.data());
	}
	provider(const provider &) = delete;
	/** For struct gorgon_ns_opts. */
	const gorgon_provider *get() const
	{
		return &provider_;
	}

private:
	std::vector<gorgon_table_entry> table_;
	gorgon_provider provider_;
};

/** A job of a pool. Dropped without finish(), it is cancelled and waited for. */
class job
{
public:
	/** Takes over a job of the C interface. */
	explicit job(gorgon_job *submitted) : job_(submitted)
	{
	}
	/** Wait for the end of the job. False: the time, in milliseconds, was up; -1 waits for
	 * ever. */
	bool wait(int timeout_ms = -1)
	{
		return gorgon_job_wait(job_.get(), timeout_ms);
	}
	/** Cancel the job: a job that has not begun never does, one that runs is interrupted. */
	void cancel()
	{
		check(gorgon_job_cancel(job_.get()));
	}
	/** Its result, once. */
	value finish()
	{
		gorgon_value ret;

		check(gorgon_job_finish(job_.release(), &ret));
		return detail::take(ret);
	}

private:
	struct drop {
		void operator()(gorgon_job *unwanted) const
		{
			gorgon_error_destroy(gorgon_job_cancel(unwanted));
			gorgon_error_destroy(gorgon_job_finish(unwanted, nullptr));
		}
	};
	std::unique_ptr<gorgon_job, drop> job_;
};

/** A pool of interpreters; its jobs must be gone before it. */
class pool
{
public:
	/** Create a pool, as gorgon_pool_create() does. */
	explicit pool(const gorgon_pool_opts *opts = nullptr)
	{
		gorgon_pool *made;

		check(gorgon_pool_create(opts, &made));
		pool_.reset(made);
	}
	/** A function of `__main__`. */
	job submit(const std::string &function, list args = {}, int timeout_ms = -1)
	{
		return submit_in(nullptr, function, std::move(args), {}, timeout_ms);
	}
	/** A function of a module. */
	job submit_in(const char *module, const std::string &function, list args = {},
		      dict kwargs = {}, int timeout_ms = -1)
	{
		const value owned_args(std::move(args)), owned_kwargs(std::move(kwargs));
		detail::tree c_args(owned_args), c_kwargs(owned_kwargs);
		gorgon_job *submitted;

		check(gorgon_pool_submit(pool_.get(), module, function.c_str(), &c_args.root,
					 &c_kwargs.root, timeout_ms, &submitted));
		return job(submitted);
	}
	/** How many interpreters have been replaced so far. */
	uint64_t replaced_count() const
	{
		return gorgon_pool_replaced_count(pool_.get());
	}
	/** End it, as gorgon_pool_destroy() says, which a destructor does without a word. */
	void close()
	{
		check(gorgon_pool_destroy(pool_.get()));
		pool_.release();
	}

private:
	struct destroy {
		void operator()(gorgon_pool *pool) const
		{
			gorgon_error_destroy(gorgon_pool_destroy(pool));
		}
	};
	std::unique_ptr<gorgon_pool, destroy> pool_;
};

} // namespace gorgon

#endif
